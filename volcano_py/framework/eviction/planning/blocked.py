"""Nodes that refuse a task because of the pods that are there: a port that is taken, a pod that wants no such neighbor.

Plugins do not say because of which pods they refuse, so units are evicted and the predicates asked again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

import numpy as np

from volcano_py.framework.eviction.planning.draft import Draft
from volcano_py.framework.eviction.planning.placing import may_come
from volcano_py.framework.eviction.units import Consent, Unit
from volcano_py.framework.job import Task
from volcano_py.framework.session import Session

ConsentTo = Callable[[Unit], Consent | None]
"""That a unit may go; None when it may not."""
_MOST_COMPARED: Final = 16
"""Nodes that can be cleared, of which the cheapest is taken; each costs an evaluation for every unit that is there."""


def make_way(
    ssn: Session,
    draft: Draft,
    task: Task,
    units: Iterable[tuple[int, Unit]],
    consent_to: ConsentTo,
) -> int | None:
    """Evict the units of one node after which the task may go there. The node; None when none can be cleared.

    `units` come with a node on which they have pods. Of the nodes that can be cleared, the one is taken on which the
    fewest whole jobs, jobs and pods have to go.
    """
    by_node: defaultdict[int, list[Unit]] = defaultdict(list)
    for node, unit in units:
        by_node[node].append(unit)
    nodes = ssn.placer.ranked(task.task_class, np.array(sorted(by_node), dtype=np.intp)).tolist()
    cleared: list[tuple[tuple[int, int, int], int, int, dict[Unit, Consent]]] = []
    for node in nodes:
        mark = draft.checkpoint()
        found = _clear(ssn, draft, task, node, by_node[node], consent_to)
        draft.rollback(mark)
        if found is not None:
            cleared.append((_cost(found), len(cleared), node, found))
            if len(cleared) == _MOST_COMPARED:
                break
    if not cleared:
        return None
    _, _, node, found = min(cleared)
    for unit, consent in found.items():
        draft.evict(unit, task, consent)
    return node


def _clear(
    ssn: Session, draft: Draft, task: Task, node: int, units: Sequence[Unit], consent_to: ConsentTo
) -> dict[Unit, Consent] | None:
    """Evict units of the node, those that are in the way by themselves first, until the task may go there. The units
    without which it could not; None when it never can."""
    in_the_way = [unit for unit in units if _would_clear(ssn, draft, task, node, unit)]
    gone: dict[Unit, Consent] = {}
    for unit in (*in_the_way, *(unit for unit in units if unit not in in_the_way)):
        if may_come(ssn, task, node):
            break
        if _may_help(ssn, task, node, unit) and (consent := consent_to(unit)) is not None:
            draft.evict(unit, task, consent)
            gone[unit] = consent
    if not may_come(ssn, task, node):
        return None
    for unit, consent in reversed(gone.copy().items()):
        draft.take_back(unit)
        if may_come(ssn, task, node):
            del gone[unit]
        else:
            draft.evict(unit, task, consent)
    return gone


def _may_help(ssn: Session, task: Task, node: int, unit: Unit) -> bool:
    """Whether it frees some of what the node lacks for the task, or might be in the way of a predicate."""
    if not ssn.placer.may_take(task.task_class, node):
        return True
    missing = task.task_class.request > np.maximum(ssn.ledger.nodes.future_idle(node), 0)
    rows = unit.rows[ssn.ledger.tasks.node[unit.rows] == node]
    return bool((ssn.ledger.classes.request[ssn.ledger.tasks.task_class[rows]][:, missing] > 0).any())


def _would_clear(ssn: Session, draft: Draft, task: Task, node: int, unit: Unit) -> bool:
    """Whether the predicates let the task come once this unit alone has gone."""
    mark = draft.checkpoint()
    draft.evict(unit, task)
    passes = ssn.placer.may_take(task.task_class, node)
    draft.rollback(mark)
    return passes


def _cost(units: Collection[Unit]) -> tuple[int, int, int]:
    whole = sum(unit.is_whole for unit in units)
    return whole, len({unit.job.row for unit in units}), sum(len(unit.rows) for unit in units)
