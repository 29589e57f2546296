"""Electing victims: tiers, intersections and guards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Task
from volcano_py.state.table.columns import TaskTable
from volcano_py.state.table.table import Rows

if TYPE_CHECKING:
    from volcano_py.framework.calls.dispatch import Call, Dispatch


def expendable_first(tasks: TaskTable, candidates: Rows) -> Rows:
    """Lowest task priority first, then the youngest, then what comes last in its gang.

    Plugins that keep running sums give up what they see first, so the order must not depend on chance: a pod of high
    priority is never given up while one of low priority would do.
    """
    keys = (tasks.tiebreak[candidates], -tasks.suffix[candidates], -tasks.created[candidates])
    return candidates[np.lexsort((*keys, tasks.priority[candidates]))]


def elect(dispatch: Dispatch, point: str, task: Task, candidates: Rows, *, in_time: bool = False) -> Rows:
    """The first tier with a victim left decides; an intersection that is empty is empty for its tier.

    Guards filter what the tier left, in order and whatever tier they stand in, so that a pod which a protector or the
    owner of the queues refuses is no victim through another tier. When they leave nothing the next tier is asked.

    `in_time`: the pods that could be victims sooner or later, as if all protection that ends with time had ended.
    """
    guards = [call for call in dispatch.calls(point) if point in call.plugin.guards and counts(call, in_time)]
    for calls in naming(dispatch, point):
        chosen = _tier([call for call in calls if counts(call, in_time)], task, candidates)
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


def possible(dispatch: Dispatch, point: str, task: Task, candidates: Rows) -> Rows:
    """The candidates that `elect` could name out of any selection of them, as far as plugins know beforehand.

    Guards are asked first, the last of them before the others: in a full cluster where queues hold what they deserve,
    the plugin that divides it is all there is to ask, and it mostly stands behind what protects single pods.
    """
    known: dict[str, NDArray[np.bool_]] = {}

    def bound(calls: list[Call]) -> NDArray[np.bool_]:
        mask = np.ones(len(candidates), dtype=np.bool_)
        for call in calls:
            name = call.plugin.name
            if name not in known:  # (a guard may be asked in its tier, too)
                known[name] = _bound(call, point, task, candidates)
            mask &= known[name]
            if not mask.any():
                break
        return mask

    guarded = bound([call for call in reversed(dispatch.calls(point)) if point in call.plugin.guards])
    if not guarded.any():
        return candidates[:0]
    mask = np.zeros(len(candidates), dtype=np.bool_)
    for calls in naming(dispatch, point):
        mask |= bound(calls)
        if mask.all():
            break
    return candidates[mask & guarded]


def naming(dispatch: Dispatch, point: str) -> Iterator[list[Call]]:
    """The tiers in which some plugin does more than protect pods."""
    for calls in dispatch.by_tier(point):
        if not all(call.plugin.only_protects for call in calls):
            yield calls


def counts(call: Call, in_time: bool) -> bool:
    return not (in_time and call.plugin.protects_temporarily)


def _bound(call: Call, point: str, task: Task, candidates: Rows) -> NDArray[np.bool_]:
    """[K] the candidates that the plugin could name; all, when it does not know."""
    answer: Any = call.ask("possible_victims", point, task, candidates, otherwise=None)
    if isinstance(answer, np.ndarray) and answer.shape == candidates.shape and answer.dtype == np.bool_:
        return answer
    return np.ones(len(candidates), dtype=np.bool_)


def _tier(calls: list[Call], task: Task, candidates: Rows) -> Rows | None:
    """What a tier agrees on; None when all its plugins that do more than protect pods abstain."""
    agreed: np.ndarray | None = None
    named = False
    for call in calls:
        answer = call(task, candidates)
        if answer is not None:
            agreed = answer if agreed is None else agreed & answer
            named |= not call.plugin.only_protects
            if not agreed.any():
                break
    return candidates[agreed] if agreed is not None and named else None


def _filter(guard: Call, task: Task, chosen: Rows) -> Rows:
    answer = guard(task, chosen)
    return chosen if answer is None else chosen[answer]
