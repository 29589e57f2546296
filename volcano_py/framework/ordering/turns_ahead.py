"""Many turns at once: which queues have the next turns, as long as each turn places one task of the same class.

A task that is placed changes the keys of its queue and of the nodes above it, and no others. So the turns below a node
are those of its children, merged: the child with the least key has a turn, and then another key. A turn waits for all
turns of other children that are less than it, or than a turn of its own child before it. So turns are sorted by the
greatest key that their child has had by then. Level by level, from the queues up to the root, they are brought into the
order in which they would come one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.ordering.outlook import Level, Outlook
from volcano_py.framework.ordering.queue_order import Path
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.state.infos import QueueInfo
from volcano_py.state.table.table import NOWHERE, Rows
from volcano_py.state.task_class import TaskClass

# What decides which queue is next, and whether its turn places a task.
_DECIDING: Final = ("queue_order", "branch_order", "overused", "allocatable")
_NONE: Final = np.zeros(0, dtype=np.intp)


class Front(msgspec.Struct, frozen=True):
    """What waits first in a queue.

    Attributes:
        turns: how many jobs there are that need one task of the class each.
        is_all: whether nothing else waits in the queue.
    """

    queue: QueueInfo
    turns: int
    is_all: bool


class TurnsAhead:
    """Orders turns ahead of time, if one plugin alone decides about them, and says what it will answer."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        calls = [call for point in _DECIDING for call in ssn.dispatch.calls(point)]
        is_one = len({call.plugin.name for call in calls}) == 1 and not ssn.dispatch.calls("namespace_order")
        self._owner = calls[0] if is_one and type(calls[0].plugin).look_ahead is not Plugin.look_ahead else None
        self._is_tree = bool(ssn.dispatch.calls("queue_paths"))

    @property
    def are_known(self) -> bool:
        return self._owner is not None

    def of(self, task_class: TaskClass, fronts: Sequence[Front]) -> Rows:
        """[K] positions in `fronts` of the queues that have the next K turns: up to the first turn of which it is not
        certain that it places a task of the class."""
        paths, owner = self._paths(fronts), self._owner
        if owner is None or not paths:
            return _NONE

        def ordered() -> Rows:
            outlook: Outlook | None = owner.plugin.look_ahead(task_class)
            return _NONE if outlook is None else self._ordered(outlook, fronts, paths)

        return owner.guard(ordered, otherwise=_NONE)

    def _ordered(self, outlook: Outlook, fronts: Sequence[Front], paths: Sequence[Path]) -> Rows:
        """The same. Raises whatever the plugin raises."""
        queue, is_last = _all_turns(fronts)
        ranks = self._ranks(fronts)[queue]
        keys: list[NDArray[Any]] = [_by_age(fronts)[queue]]  # the most important one last
        levels = [_nodes(paths, depth) for depth in range(1, max(map(len, paths)) + 1)]
        turns = np.arange(len(queue))
        """In the order of the level; all else is by the number of the turn."""
        for depth in range(len(levels) - 1, -1, -1):
            nodes, of_queue = levels[depth]
            at = of_queue[queue[turns]]
            is_there, placed = at < len(nodes), _place_in_run(at)
            level = Level(nodes, at[is_there], placed[is_there], turns[is_there])
            columns = outlook.keys(level)
            if not columns:
                return _NONE
            is_last[level.turns] |= level.placed >= np.array([outlook.most(path) for path in nodes])[level.of]
            keys.extend(_by_number(column, level.turns, len(queue)) for column in reversed(columns))
            above = levels[depth - 1][1] if depth else np.zeros(len(fronts), dtype=np.intp)
            greatest = _greatest_in_run(_places(np.lexsort((*keys, ranks)))[turns], at)
            turns = turns[np.lexsort((greatest, above[queue[turns]]))]
        in_order = queue[turns[: outlook.most(())]]
        ends = np.flatnonzero(is_last[turns[: len(in_order)]])
        return in_order[: ends[0]] if len(ends) else in_order

    def _paths(self, fronts: Sequence[Front]) -> list[Path]:
        """The queues' ways through the tree; none if one leads through another or to the same node."""
        known = self._ssn.ask.queue_paths() if self._is_tree else {}
        paths = [known.get(front.queue.name, (front.queue.name,)) for front in fronts]
        nodes = {path[:depth] for path in paths for depth in range(1, len(path))}
        is_sound = len(set(paths)) == len(paths) and nodes.isdisjoint(paths)
        return paths if is_sound else []

    def _ranks(self, fronts: Sequence[Front]) -> Rows:
        """[Q] what comes before the tree: queues of a higher rank wait until those of a lower one have no jobs."""
        if not self._is_tree:
            return np.zeros(len(fronts), dtype=np.intp)
        ranks = [self._ssn.ask.queue_rank(front.queue) for front in fronts]
        places = {rank: place for place, rank in enumerate(sorted(set(ranks)))}
        return np.array([places[rank] for rank in ranks], dtype=np.intp)


def _all_turns(fronts: Sequence[Front]) -> tuple[Rows, NDArray[np.bool_]]:
    """[T] the queue of each turn, queue by queue, and whether something else has its turn then."""
    turns, goes_on = np.array([(front.turns, not front.is_all) for front in fronts], dtype=np.intp).T
    queue = np.repeat(np.arange(len(fronts)), turns + goes_on)
    is_last = _place_in_run(queue) >= turns[queue]
    return queue, is_last


def _by_age(fronts: Sequence[Front]) -> Rows:
    """[Q] the place of each queue among all by creation time and name."""
    ages = [(front.queue.created, front.queue.name) for front in fronts]
    return _places(np.array(sorted(range(len(fronts)), key=ages.__getitem__), dtype=np.intp))


def _nodes(paths: Sequence[Path], depth: int) -> tuple[list[Path], Rows]:
    """The nodes of this depth, and [Q] which of them each path leads to or through; a number of its own, beyond all
    nodes, where it is not as deep."""
    nodes: dict[Path, int] = {}
    of_path = [nodes.setdefault(path[:depth], len(nodes)) if len(path) >= depth else NOWHERE for path in paths]
    at = np.array(of_path, dtype=np.intp)
    return list(nodes), np.where(at == NOWHERE, len(nodes) + np.arange(len(paths)), at)


def _by_number(column: NDArray[Any], turns: Rows, size: int) -> NDArray[np.float64]:
    """[T] the keys of these turns. A queue that is not as deep comes before one that is, if they are equal as far as it
    goes."""
    if np.isnan(column).any():
        raise ValueError("a key is not a number (NaN): it is neither before nor after others")
    keys = np.full(size, -np.inf)
    keys[turns] = column
    return keys


def _places(order: Rows) -> Rows:
    """[K] the place of each in the order."""
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order))
    return places


def _place_in_run(values: Rows) -> NDArray[np.int64]:
    """[K] how many equal values come directly before each."""
    at = np.arange(len(values))
    places: NDArray[np.int64] = at - np.maximum.accumulate(np.where(_starts_run(values), at, 0))
    return places


def _greatest_in_run(places: Rows, values: Rows) -> Rows:
    """[K] the greatest place so far, among those whose values are equal and side by side."""
    base = np.cumsum(_starts_run(values)) * len(values)  # so that every run is beyond the one before it
    greatest: Rows = np.maximum.accumulate(places + base) - base
    return greatest


def _starts_run(values: Rows) -> NDArray[np.bool_]:
    starts = np.ones(len(values), dtype=np.bool_)
    starts[1:] = values[1:] != values[:-1]
    return starts
