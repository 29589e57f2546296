"""Electing victims: tiers, intersections and guards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from volcano_py.framework.job import Task
from volcano_py.state.ledger import Rows, TaskTable

if TYPE_CHECKING:
    from volcano_py.framework.dispatch import Call, Dispatch


def expendable_first(tasks: TaskTable, candidates: Rows) -> Rows:
    """Lowest task priority first, then the youngest, then what comes last in its gang.

    Plugins that keep running sums give up what they see first, so the order must not depend on chance: a pod of high
    priority is never given up while one of low priority would do.
    """
    keys = (tasks.tiebreak[candidates], -tasks.suffix[candidates], -tasks.created[candidates])
    return candidates[np.lexsort((*keys, tasks.priority[candidates]))]


def elect(dispatch: Dispatch, point: str, task: Task, candidates: Rows) -> Rows:
    """The first tier with a victim left decides; an intersection that is empty is empty for its tier.

    Guards filter what the tier left, in order and whatever tier they stand in, so that a pod which a protector or the
    owner of the queues refuses is no victim through another tier. When they leave nothing the next tier is asked.
    """
    guards = [call for call in dispatch.calls(point) if point in call.plugin.guards]
    for calls in dispatch.by_tier(point):
        chosen = _tier(calls, task, candidates)
        if chosen is None:
            continue
        for guard in guards:
            if not len(chosen):
                break
            if guard not in calls:
                chosen = _filter(guard, task, chosen)
        if len(chosen):
            return chosen
    return candidates[:0]


def _tier(calls: list[Call], task: Task, candidates: Rows) -> Rows | None:
    """What a tier agrees on; None when everybody abstains."""
    agreed: np.ndarray | None = None
    for call in calls:
        answer = call(task, candidates)
        if answer is not None:
            agreed = answer if agreed is None else agreed & answer
            if not agreed.any():
                break
    return None if agreed is None else candidates[agreed]


def _filter(guard: Call, task: Task, chosen: Rows) -> Rows:
    answer = guard(task, chosen)
    return chosen if answer is None else chosen[answer]
