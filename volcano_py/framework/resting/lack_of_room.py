"""Classes for which no node has room: what that follows from, so that later changes of nodes can be checked against it.

For a gang of which some pods find room, what matters is what is left once these are placed. The checks are made for
thousands of classes and the few nodes that changed, in arrays.
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
        places: how many pods find room before; of a gang that waits for more. None: it depends on the nodes they take.
        short: [R] of what some willing node has too little: of several resources only the first counts.
        most: [R] the most that any willing node has left.
        most_on: [R] the node that has it, of equals the first by name.
        sight: the pods by which nodes refuse it; None if none do.
    """

    request: IntVector
    willing: NDArray[np.uint8]
    places: int | None
    short: NDArray[np.bool_]
    most: IntVector
    most_on: NDArray[np.intp]
    sight: Sight | None = None


def lack_of_room(
    cluster: ClusterCopy, task_class: TaskClass, codes: Codes, sight: Sight | None = None
) -> LackOfRoom | None:
    """`codes` [N]: what each node says to the class, regardless of its room. As of when what is being released is free,
    and as many pods as find room are placed. None when no node is willing and that does not change with pods in
    `sight`."""
    nodes, request = cluster.ledger.nodes, task_class.request
    is_willing = nodes.present & (codes == FITS)
    willing = np.flatnonzero(is_willing)
    if not len(willing):
        return None if sight is None else _whatever_room(cluster, 0, sight)
    room, left = _filled(nodes.future_idle()[willing], request)
    short = np.zeros(len(request), dtype=np.bool_)
    short[((request > 0) & (left < request)).argmax(axis=1)] = True
    by_name = willing[order := np.argsort(cluster.nodes.name_rank[willing])]
    fullest, places = left[order].argmax(axis=0), int(room.sum())
    return LackOfRoom(request, np.packbits(is_willing), places, short, left.max(axis=0), by_name[fullest], sight)


def lack_of_luck(cluster: ClusterCopy, sight: Sight) -> LackOfRoom:
    """Why a gang is incomplete whose pods differ, or that is kept together in the network: some found room, and if they
    had taken other nodes, so might the others. That is tried again once a pod in `sight` has moved."""
    return _whatever_room(cluster, None, sight)


def _whatever_room(cluster: ClusterCopy, places: int | None, sight: Sight) -> LackOfRoom:
    """It holds whatever is free on nodes, until a pod in `sight` has moved."""
    zeros, no_node = np.zeros(len(cluster.axis), dtype=np.int64), np.zeros(cluster.ledger.nodes.size, dtype=np.bool_)
    return LackOfRoom(zeros, np.packbits(no_node), places, zeros > 0, zeros, zeros.astype(np.intp), sight)


def _filled(free: NDArray[np.int64], request: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[…] how many pods with that `request` […, R] find room in what is `free` […, R]; […, R] what is left then."""
    room = np.maximum(np.where(request > 0, free // np.maximum(request, 1), _PLENTY).min(axis=-1), 0)
    return room, free - room[..., None] * request


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
        """[C] whether there is room for as many as before, and all that is said about it is the same."""
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
                room, _ = _filled(change.now, self._request[part, None])
                found[part] = np.where(self._is_willing(part, change.rows), room, 0).sum(axis=1)
        return found

    def _is_willing(self, part: slice, rows: Rows) -> NDArray[np.bool_]:
        """[C, K]"""
        willing: NDArray[np.bool_] = (self._willing[part][:, rows // 8] >> (7 - rows % 8)) & 1 == 1
        return willing

    def _parts(self, amounts: int) -> Iterator[slice]:
        step = max(1, _MOST_COMPARED // amounts)
        return (slice(first, first + step) for first in range(0, len(self), step))

    def _hold(self, part: slice, change: RoomChange) -> NDArray[np.bool_]:
        rows, request = change.rows, self._request[part, None]
        (room, now), (had_room, before) = (_filled(free, request) for free in (change.now, change.before))
        lacks, lacked = ((request > 0) & (left < request) for left in (now, before))
        same: NDArray[np.bool_] = (room == had_room) & (lacks.argmax(axis=2) == lacked.argmax(axis=2))
        most, most_on = self._most[part, None], self._most_on[part, None]
        is_first = change.name_rank[rows][:, None] < change.name_rank[most_on]
        is_more = (now > most) | ((now == most) & is_first)
        moved = np.where(most_on == rows[:, None], now != most, is_more)
        same &= ~(moved & self._short[part, None]).any(axis=2)
        holds: NDArray[np.bool_] = np.all(same | ~self._is_willing(part, rows), axis=1)
        return holds
