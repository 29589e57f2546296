"""The keys of the nodes of the tree as tasks of one class are placed, each in a job that needs no more."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.ordering.outlook import Level
from volcano_py.framework.views import Counts
from volcano_py.plugins.drf.layout import Path
from volcano_py.plugins.drf.siblings import FAN, NOTHING, Parts
from volcano_py.plugins.drf.tree import Node, Tree, rounded
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.table import NOWHERE, Rows

# Turns times children of a node, at some hundred bytes each. Above nodes that have more, turns come one by one.
_MOST: Final = 250_000

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class _Below(NamedTuple):
    """The level below: by the number of each turn, the position of its node there among the children of the node above
    (NOWHERE for turns that are not there), and what that node counts for after the turn."""

    position: Rows
    parts: Parts


class HierarchyOutlook:
    """See the module. Nodes are evaluated as by `Tree`, for all turns at once.

    A job that gets the only task that it asks for is saturated, and counts as it is. So what is placed below a queue's
    node adds up, unless another job there holds something and may get more.
    """

    def __init__(self, tree: Tree, request: IntVector, most: int, shut: Collection[Path]) -> None:
        """`request` [R] is that of one task; `most` may be placed before another resource is exhausted. Below the nodes
        in `shut`, it is not certain that a task is placed."""
        self._tree = tree
        self._request = request
        self._most = most
        self._shut = shut
        self._below: _Below | None = None

    def most(self, path: Path) -> int:
        return 0 if path in self._shut else self._most

    def keys(self, level: Level) -> Sequence[NDArray[Any]]:
        nodes = [self._tree.nodes[path] for path in level.nodes]
        held, is_saturated = self._own(nodes, level)
        if (is_above := self._children(level.turns) != NOWHERE).any():
            places, of = np.unique(level.of[is_above], return_inverse=True)
            siblings = [nodes[place].children.parts() for place in places.tolist()]
            if len(of) * max(len(each.ratio) for each in siblings) > _MOST:
                return ()
            together = self._together(siblings, of, level.placed[is_above], level.turns[is_above])
            held[is_above], is_saturated[is_above] = together
        shares = self._shares(held, is_saturated)
        weights = np.array([node.weight for node in nodes])[level.of]
        self._below = _below(nodes, level, held, shares, weights, is_saturated)
        # Each turn has the key that the turn before has left.
        first = level.placed == 0
        keys = np.stack((is_saturated.astype(np.float64), rounded(shares / weights)))
        now = np.array([node.key for node in nodes], dtype=np.float64).T[:, level.of]
        return list(np.where(first, now, np.roll(keys, 1, axis=1)))

    def _children(self, turns: Rows) -> Rows:
        """[K] the child that has each turn; NOWHERE for a queue's own node."""
        child = np.full(turns.max() + 1, NOWHERE, dtype=np.intp)
        if self._below is not None:
            child[: len(self._below.position)] = self._below.position
        return child[turns]

    def _own(self, nodes: Sequence[Node], level: Level) -> tuple[Floats, Flags]:
        """What the nodes of queues hold after each turn [K, R], and whether they are saturated [K]."""
        held = np.array([node.held for node in nodes])[level.of] + (level.placed + 1)[:, None] * self._request
        is_saturated: Flags = np.array([node.children.open for node in nodes])[level.of] <= level.placed + 1
        return held, is_saturated

    def _together(self, siblings: Sequence[Parts], of: Rows, placed: Counts, turns: Rows) -> tuple[Floats, Flags]:
        """The same of nodes above others: of the node `of[k]`, whose children count for `siblings` now, after its turn
        `turns[k]`."""
        assert self._below is not None, "turns below a child were there before"
        child, at = self._children(turns), np.arange(len(turns))
        parts: list[Parts] = []
        for position in range(max(len(each.ratio) for each in siblings)):
            last = np.maximum.accumulate(np.where(child == position, at, NOWHERE))
            has_moved = last >= at - placed
            columns = []
            for now, after in zip(zip(*siblings, strict=True), self._below.parts, strict=True):
                start = np.array([each[position] if position < len(each) else _nothing(each) for each in now])
                moved = after[turns[np.maximum(last, 0)]]
                columns.append(np.where(has_moved if moved.ndim == 1 else has_moved[:, None], moved, start[of]))
            parts.append(Parts(*columns))
        least = np.minimum.reduce([part.ratio for part in parts])
        as_is, per_unit = _sum_up([part.as_is for part in parts]), _sum_up([part.per_unit for part in parts])
        has_least = least != NOTHING
        as_is[has_least] += per_unit[has_least] * least[has_least, None]
        return as_is, ~np.logical_or.reduce([part.is_open for part in parts])

    def _shares(self, held: Floats, is_saturated: Flags) -> Floats:
        """[K] the largest part of any resource that counts."""
        shares = np.zeros(len(held))
        for saturated in (False, True):
            which = is_saturated == saturated
            for dim, total in self._tree.counted(saturated=saturated):
                shares[which] = np.maximum(shares[which], held[which, dim] / total)
        return shares


def _nothing(column: NDArray[Any]) -> Any:
    """What a child counts for that does not exist."""
    if column.dtype == np.bool_:
        return False
    return NOTHING if column.ndim == 1 else np.zeros(column.shape[1])


def _below(
    nodes: Sequence[Node], level: Level, held: Floats, shares: Floats, weights: Floats, is_saturated: Flags
) -> _Below:
    """What the nodes count for in their parents after each turn, as in `Siblings.put`."""
    size = level.turns.max() + 1
    position = np.full(size, NOWHERE, dtype=np.intp)
    position[level.turns] = np.array([node.position for node in nodes])[level.of]
    parts = Parts(
        np.zeros((size, held.shape[1])),
        np.zeros((size, held.shape[1])),
        np.full(size, NOTHING),
        np.zeros(size, dtype=np.bool_),
    )
    parts.is_open[level.turns] = ~is_saturated
    fixed, free = is_saturated & (shares > 0), ~is_saturated & (shares > 0)
    parts.as_is[level.turns[fixed]] = held[fixed]
    parts.per_unit[level.turns[free]] = held[free] * (weights[free] / shares[free])[:, None]
    parts.ratio[level.turns[free]] = shares[free] / weights[free]
    return _Below(position, parts)


def _sum_up(columns: list[Floats]) -> Floats:
    """The sum, in the order in which `Siblings` adds up, so that the last bits are the same."""
    while len(columns) > 1:
        columns = [sum(columns[first : first + FAN], np.zeros(1)) for first in range(0, len(columns), FAN)]
    return columns[0].copy()
