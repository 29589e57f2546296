"""Classes for which no node has room: what that follows from, so that later changes of nodes can be checked against it.

The checks are made for thousands of classes and the few nodes that changed, in arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.resting.pods_in_sight import Moves, Sight
from volcano_py.framework.views import FITS, Codes
from volcano_py.state.table.across import any_of
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

_MOST_COMPARED: Final = 1_000_000
"""Amounts compared at a time, which bounds the memory."""
_PLENTY: Final = np.iinfo(np.int32).max


class LackOfRoom(msgspec.Struct, frozen=True, eq=False):
    """Why no node has room for one more pod of a class.

    Attributes:
        request: [R] what a pod asks for.
        willing: the nodes that refuse it for no other reason; one bit for each, packed.
        short: [R] of what some willing node has too little: of several resources only the first counts.
        most: [R] the most that any willing node has left.
        most_on: [R] the node that has it, of equals the first by name.
        sight: the pods by which nodes refuse it; None if none do.
    """

    request: IntVector
    willing: NDArray[np.uint8]
    short: NDArray[np.bool_]
    most: IntVector
    most_on: NDArray[np.intp]
    sight: Sight | None = None


def lack_of_room(
    cluster: ClusterCopy, task_class: TaskClass, codes: Codes, sight: Sight | None = None
) -> LackOfRoom | None:
    """`codes` [N]: what each node says to the class, regardless of its room. None when a node has room, also once what
    is being released is free, or when none is willing and that does not change with pods in `sight`."""
    nodes, request = cluster.ledger.nodes, task_class.request
    is_willing = nodes.present & (codes == FITS)
    willing = np.flatnonzero(is_willing)
    free = nodes.future_idle()[willing]
    lacks = (request > 0) & (free < request)
    if not any_of(lacks).all() or not (len(willing) or sight):
        return None
    short = np.zeros(len(request), dtype=np.bool_)
    if not len(willing):
        none = np.zeros(len(request), dtype=np.intp)
        return LackOfRoom(request, np.packbits(is_willing), short, np.zeros_like(request), none, sight)
    short[lacks.argmax(axis=1)] = True
    by_name = willing[order := np.argsort(cluster.nodes.name_rank[willing])]
    fullest = free[order].argmax(axis=0)
    return LackOfRoom(request, np.packbits(is_willing), short, free.max(axis=0), by_name[fullest], sight)


class RoomChange(msgspec.Struct, frozen=True, eq=False):
    """Nodes `rows` [K] with what was, or will be, free on them [K, R] `before` and `now`; `name_rank` [N] orders nodes
    by name."""

    rows: Rows
    before: NDArray[np.int64]
    now: NDArray[np.int64]
    name_rank: NDArray[np.int64]

    @classmethod
    def between(cls, before: NDArray[np.int64], now: NDArray[np.int64], name_rank: NDArray[np.int64]) -> RoomChange:
        """`before` and `now` are of all nodes [N, R]."""
        rows = np.flatnonzero(any_of(before != now))
        return cls(rows, before[rows], now[rows], name_rank)


class LacksOfRoom:
    """Many of them, one below the other."""

    def __init__(self, each: Sequence[LackOfRoom]) -> None:
        self._each = each
        self.have_sight = any(lack.sight is not None for lack in each)
        """Whether any is about pods that wait for others."""
        self._request = np.array([lack.request for lack in each])
        self._willing = np.array([lack.willing for lack in each])
        self._short = np.array([lack.short for lack in each])
        self._most = np.array([lack.most for lack in each])
        self._most_on = np.array([lack.most_on for lack in each])

    def __len__(self) -> int:
        return len(self._each)

    def hold(self, change: RoomChange) -> NDArray[np.bool_]:
        """[C] whether there is still no room, and all that is said about it is the same."""
        found = np.ones(len(self), dtype=np.bool_)
        if len(change.rows):
            for part in self._parts(change.before.size):
                found[part] = self._hold(part, change)
        return found

    def see(self, moves: Moves) -> NDArray[np.bool_]:
        """[C] whether pods have moved by which nodes refuse the class."""
        sights = (lack.sight for lack in self._each)
        return np.fromiter((sight is not None and moves.concern(sight) for sight in sights), np.bool_, len(self))

    def room(self, change: RoomChange) -> NDArray[np.int64]:
        """[C] how many pods of each class the nodes that changed have room for at most."""
        found = np.zeros(len(self), dtype=np.int64)
        if len(change.rows):
            for part in self._parts(change.before.size):
                asked = self._request[part, None]
                room = np.where(asked > 0, change.now // np.maximum(asked, 1), _PLENTY).min(axis=2)
                found[part] = np.where(self._is_willing(part, change.rows), np.maximum(room, 0), 0).sum(axis=1)
        return found

    def _is_willing(self, part: slice, rows: Rows) -> NDArray[np.bool_]:
        """[C, K]"""
        willing: NDArray[np.bool_] = (self._willing[part][:, rows // 8] >> (7 - rows % 8)) & 1 == 1
        return willing

    def _parts(self, amounts: int) -> Iterator[slice]:
        step = max(1, _MOST_COMPARED // amounts)
        return (slice(first, first + step) for first in range(0, len(self), step))

    def _hold(self, part: slice, change: RoomChange) -> NDArray[np.bool_]:
        rows, now = change.rows, change.now
        request = self._request[part, None]
        lacks, lacked = ((request > 0) & (free < request) for free in (now, change.before))
        same: NDArray[np.bool_] = lacks.any(axis=2) & (lacks.argmax(axis=2) == lacked.argmax(axis=2))
        most, most_on = self._most[part, None], self._most_on[part, None]
        is_first = change.name_rank[rows][:, None] < change.name_rank[most_on]
        is_more = (now > most) | ((now == most) & is_first)
        moved = np.where(most_on == rows[:, None], now != most, is_more)
        same &= ~(moved & self._short[part, None]).any(axis=2)
        holds: NDArray[np.bool_] = np.all(same | ~self._is_willing(part, rows), axis=1)
        return holds
