"""Fill back: units that a whole plan does not need stay, as what the others free is enough for all its tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from volcano_py.framework.eviction.planning.draft import Draft, Eviction
from volcano_py.framework.eviction.planning.placing import place, place_on
from volcano_py.framework.session import Session
from volcano_py.state.table.across import least_of


def fill_back(ssn: Session, draft: Draft) -> None:
    """Take out of the draft what it does not need: whole jobs before single pods, the more important ones first.

    The tasks may get other places by it. A job that goes whole stays whole or not at all.
    """
    for evictions in groups(draft):
        if len(draft.evictions) > len(evictions) and _may_do_without(ssn, draft, evictions):
            _try_without(ssn, draft, evictions)


def groups(draft: Draft) -> list[list[Eviction]]:
    """What can stay by itself, the first to stay first: all of a job that goes whole, or one surplus pod."""
    whole = {each.unit.job.row for each in draft.evictions if each.unit.is_whole}
    groups: dict[tuple[int, int], list[Eviction]] = {}
    for number, each in enumerate(draft.evictions):
        key = (each.unit.job.row, -1 if each.unit.job.row in whole else number)
        groups.setdefault(key, []).append(each)
    return sorted(
        groups.values(),
        key=lambda group: (group[0].unit.job.row in whole, group[0].unit.job.priority, -group[0].unit.job.created),
        reverse=True,
    )


def _may_do_without(ssn: Session, draft: Draft, evictions: Sequence[Eviction]) -> bool:
    """Whether nodes would have room for the tasks of each class, looked at by itself."""
    ledger = ssn.ledger
    idle = ledger.nodes.future_idle()
    for promised in draft.places:
        idle[promised.node] += promised.task.task_class.request
    for eviction in evictions:
        rows = eviction.unit.rows
        np.subtract.at(idle, ledger.tasks.node[rows], ledger.classes.request[ledger.tasks.task_class[rows]])
    classes = {promised.task.task_class.row: promised.task.task_class for promised in draft.places}
    counts = Counter(promised.task.task_class.row for promised in draft.places)
    for row, task_class in classes.items():
        dims = task_class.requested
        room = np.maximum(least_of(idle[:, dims] // task_class.request[dims]), 0)
        if room[ssn.resolvable(ssn.placer.codes(task_class))].sum() < counts[row]:
            return False
    return True


def _try_without(ssn: Session, draft: Draft, evictions: Sequence[Eviction]) -> None:
    """The units stay if every task still finds a place."""
    places = draft.withdraw_places()
    for eviction in evictions:
        draft.take_back(eviction.unit)
    if all(place_on(ssn, draft, each.task, each.node) or place(ssn, draft, each.task) for each in places):
        return
    draft.withdraw_places()
    draft.repeat(evictions, places)
