"""What the open claims of a class ask for, worked out against the devices that there are: once for all nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.predicates.devices.counting import Counting
from volcano_py.plugins.predicates.devices.matching import Matches, Nothing
from volcano_py.plugins.predicates.devices.places import NETWORK, Places
from volcano_py.plugins.predicates.devices.rooms import Rooms, Wish, is_simple, rooms_of
from volcano_py.plugins.predicates.devices.search import Chosen, Problem
from volcano_py.plugins.predicates.devices.sharing import Costs
from volcano_py.plugins.predicates.devices.use import Free
from volcano_py.state.devices.needs import Ask, OpenDevices
from volcano_py.state.devices.picture import DevicePicture
from volcano_py.state.nodes.terms import Mask
from volcano_py.state.table.table import Rows

_FEW: Final = 16
"""Nodes that are searched one by one, though a look at all of them at once would do."""


class Asked(msgspec.Struct, frozen=True, eq=False):
    """One way to satisfy a request, and the devices [D] that it selects; `nothing` says why there are none. `costs` of
    shared ones."""

    ask: Ask
    selectable: Mask
    nothing: Nothing | None
    costs: Costs


class Wanted:
    """For claims that nothing is chosen for yet.

    Attributes:
        asked: each way of each request.
        errors: of expressions, sentences.
        largest: devices that the claim with most of them gets, or more.
        spans_nodes: whether a device that could be chosen can be used from several nodes, or takes of what devices of
            other nodes can use.
    """

    def __init__(
        self,
        needs: Sequence[OpenDevices],
        picture: DevicePicture,
        places: Places,
        counting: Counting,
        matches: Matches,
        size: int,
    ) -> None:
        """`size` is the number of nodes."""
        self._needs, self._places, self._counting, self._size = tuple(needs), places, counting, size
        matched = {ask: matches.mask(ask) for need in needs for request in need.requests for ask in request.ways}
        by_ask = {
            ask: Asked(ask, found.selectable, found.nothing, Costs(picture, ask.capacity, found.selectable))
            for ask, found in matched.items()
        }
        self.asked = list(by_ask.values())
        self.largest = max((_fewest(need) for need in needs), default=0)
        self.errors = tuple(dict.fromkeys(error.message for found in matched.values() for error in found.errors))
        self._problem = Problem(
            self._needs,
            lambda ask: by_ask[ask].selectable,
            picture.devices,
            counting,
            lambda ask: by_ask[ask].costs.of,
        )
        nothing = np.zeros(len(picture.devices), dtype=np.bool_)
        self._concerned = np.logical_or.reduce([nothing, *(found.selectable for found in matched.values())])
        spanning = (places.node == NETWORK) | counting.spanning(places.node)
        self.spans_nodes = bool(spanning[self._concerned].any())
        there = places.node < size
        self._requests = [
            (by_ask[request.ways[0]], by_ask[request.ways[0]].selectable & there)
            for need in needs
            for request in need.requests
        ]
        self._is_simple = bool(self._requests) and is_simple(self._needs) and not self.spans_nodes
        self._answers: dict[tuple[bool, bytes, bytes], bool] = {}
        """What a node that sees such devices, free or in use, has answered."""
        are_shared = any(each.costs.of for each in self.asked)
        self._is_intricate = are_shared or bool(counting.whole.like[self._concerned].any())

    def choose(self, row: int, free: Free) -> Chosen | None:
        """The devices of each claim on the node; None if it does not have them."""
        found = self._problem.solve(self._places.seen_from(row), free, sees_incomplete=self._places.is_incomplete(row))
        return found if isinstance(found, Chosen) else None

    def fits(self, rows: Rows, free: Free) -> Mask:
        """[K] nodes that have the devices."""
        if not self._is_simple or len(rows) <= _FEW:
            return np.array([self._has(row, free) for row in rows.tolist()], dtype=np.bool_)
        rooms = self._rooms(rows, free)
        fits: Mask = rooms.room[rows] > 0
        for at in np.flatnonzero(fits & ~rooms.is_exact[rows]).tolist():
            fits[at] = self._has(int(rows[at]), free)
        return fits

    def _has(self, row: int, free: Free) -> bool:
        """Whether the node has the devices. Most nodes are like others, and a search can take many steps. Where devices
        are shared or share counters, it matters as well how much is left of them."""
        if self._is_intricate:
            return self.choose(row, free) is not None
        seen = self._places.seen_from(row)
        seen = seen[self._concerned[seen]]
        key = self._places.is_incomplete(row), self._problem.kinds[seen].tobytes(), free.devices[seen].tobytes()
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self.choose(row, free) is not None
        return answer

    def room(self, rows: Rows, free: Free) -> NDArray[np.int64] | None:
        """[K] how many such pods each node takes, one after the other; None where they have to be tried."""
        if not self._is_simple:
            return None
        rooms = self._rooms(rows, free)
        return rooms.room[rows] if rooms.is_exact[rows].all() else None

    def _rooms(self, rows: Rows, free: Free) -> Rooms:
        """Good for these nodes. For few, only their devices are looked at: each placement asks for the room of one."""
        node_of = np.minimum(self._places.node, self._size - 1)
        wishes = [
            Wish(there, asked.ask.count, asked.costs.times(free.left, len(there)), asked.costs.shared(len(there)))
            for asked, there in self._requests
        ]
        if len(rows) > _FEW:
            return rooms_of(wishes, free, node_of, self._size, self._counting.whole)
        seen = [self._places.seen_from(row) for row in rows.tolist()]
        devices, counters = self._counting.only(np.concatenate(seen) if seen else rows)
        part = Free(free.devices[devices], free.used[devices], free.left)
        wishes = [
            Wish(each.selectable[devices], each.count, each.times[devices], each.shared[devices]) for each in wishes
        ]
        return rooms_of(wishes, part, node_of[devices], self._size, counters)


def _fewest(need: OpenDevices) -> int:
    """How many devices the claim gets at least. A request for all devices gets one or more."""
    return sum(min(max(way.count, 1) for way in request.ways) for request in need.requests)
