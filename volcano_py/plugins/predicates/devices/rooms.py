"""How many pods of a kind find their devices on each node, one after the other: all nodes at a time, without a search.

For claims whose requests have one way each, a number of devices, and no constraint: most claims are like that.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.devices.claims import MOST_DEVICES
from volcano_py.framework.views import Counts
from volcano_py.plugins.predicates.devices.counting import affordable, can_be_used_together, consuming, set_count
from volcano_py.plugins.predicates.devices.places import NETWORK
from volcano_py.plugins.predicates.devices.sharing import UNBOUNDED
from volcano_py.plugins.predicates.devices.use import Free
from volcano_py.state.devices.counters import Amounts, Counters
from volcano_py.state.devices.needs import ALL, OpenDevices
from volcano_py.state.nodes.terms import Mask

_MOST_SETS: Final = 6
"""Sets of candidates whose unions are all looked at: 64 sums a node."""


class Rooms(msgspec.Struct, frozen=True, eq=False):
    """`room` [N] pods at most. `is_exact` [N]: as many find their devices; elsewhere it may be fewer, and none."""

    room: Counts
    is_exact: Mask


def is_simple(claims: Sequence[OpenDevices]) -> bool:
    """Whether `rooms_of` can answer for these claims."""
    return all(
        not claim.constraints
        and sum(request.ways[0].count for request in claim.requests) <= MOST_DEVICES
        and all(
            len(request.ways) == 1 and request.ways[0].count != ALL and not request.ways[0].is_admin
            for request in claim.requests
        )
        for claim in claims
    )


class Wish(msgspec.Struct, frozen=True, eq=False):
    """A request: the devices [D] that it selects, how many it needs, and how often it could get each of them [D]: once,
    or, if the device is `shared` [D], until its capacity is used up."""

    selectable: Mask
    count: int
    times: Counts
    shared: Mask


def rooms_of(wishes: Sequence[Wish], free: Free, node_of: NDArray[np.intp], size: int, counters: Counters) -> Rooms:
    """Requests of one pod; there is at least one.

    On a node where the candidates of any two requests are the same or have nothing in common, also no counters, and any
    so many of them can be used together, the answer is exact. Elsewhere it says how many pods could be served if
    devices were handed out with all of them in view; one after the other, a pod may take what only the next one could
    use. Where devices are shared, it is exact for a single request for one device without counters.

    Args:
        free: what can be given.
        node_of: [D] the row of the only node that can use the device, or `NETWORK`. Devices that share counters have
            the same.
        size: how many nodes there are.
        counters: that devices consume.
    """
    left = counters.left(free.used)
    usable = affordable(counters, free, left)
    there = OnNodes(counters, left, free, node_of, size)
    room = np.full(size, np.iinfo(np.int64).max, dtype=np.int64)
    needed: dict[bytes, int] = {}
    masks: dict[bytes, Mask] = {}
    with_shares = [wish for wish in wishes if (wish.selectable & wish.shared).any()]
    for wish in wishes:
        candidates = wish.selectable & usable
        key = candidates.tobytes()
        masks[key] = candidates
        needed[key] = needed.get(key, 0) + wish.count
        if wish in with_shares:
            np.minimum(room, there.most(candidates, wish.times) // wish.count, out=room)
    sets, counts = list(masks.values()), list(needed.values())
    often = np.ones(len(usable), dtype=np.int64)
    for wish in with_shares:
        often[wish.shared] = UNBOUNDED
    everything = tuple(range(len(sets)))
    sizes = range(1, len(sets) + 1) if len(sets) <= _MOST_SETS else (1,)
    unions = {*(union for length in sizes for union in combinations(everything, length)), everything}
    for union in sorted(unions):
        have = there.most(np.logical_or.reduce([sets[at] for at in union]), often)
        np.minimum(room, have // sum(counts[at] for at in union), out=room)
    clear = there.is_clear(sets)
    for wish in with_shares:
        doubtful = wish.selectable & wish.shared & usable
        if len(wishes) == 1 and wish.count == 1:
            doubtful &= counters.like > 0
        clear &= there.most(doubtful, often) == 0
    return Rooms(room, clear)


class OnNodes:
    """Counts devices of all nodes; `left` [C] of counters."""

    def __init__(self, counters: Counters, left: Amounts, free: Free, node_of: NDArray[np.intp], size: int) -> None:
        self._counters, self._left = counters, left
        self._consuming = consuming(counters, free)
        self._node_of, self._size = node_of, size
        self._set_of = counters.counter_set[counters.counter]
        """[E]"""
        self._node_of_set = np.full(set_count(counters), NETWORK, dtype=np.intp)
        self._node_of_set[self._set_of] = node_of[counters.device]

    def most(self, devices: Mask, times: Counts) -> Counts:
        """[N] how many of them can be used together at most, each so many `times` [D]."""
        often = devices & (times != 1)
        counting = devices & self._consuming & ~often
        found = self._per_node(self._node_of[devices & ~counting & ~often])
        if often.any():
            found += self._per_node(self._node_of[often], times[often])
        if counting.any():
            found += self._per_node(self._node_of_set, can_be_used_together(self._counters, counting, self._left).most)
        return found

    def is_clear(self, sets: Sequence[Mask]) -> Mask:
        """[N] whether any two of the sets are, as far as the node sees them, the same or disjoint, also in counters,
        and any devices of each can be used together, up to the most."""
        blurred = np.zeros(self._size, dtype=np.int64)
        for each in sets:
            counting = each & self._consuming
            if counting.any():
                exact = can_be_used_together(self._counters, counting, self._left).is_exact
                blurred += self._per_node(self._node_of_set[~exact])
        for one, other in combinations(sets, 2):
            common, different = self._per_node(self._node_of[one & other]), self._per_node(self._node_of[one ^ other])
            blurred += np.minimum(common, different)
            shared = self._consumed_of(one) & self._consumed_of(other) & self._consumed_of(one ^ other)
            blurred += self._per_node(self._node_of_set[shared])
        clear: Mask = blurred == 0
        return clear

    def _consumed_of(self, devices: Mask) -> Mask:
        """[S] counter sets."""
        found = np.zeros(len(self._node_of_set), dtype=np.bool_)
        found[self._set_of[devices[self._counters.device]]] = True
        return found

    def _per_node(self, nodes: NDArray[np.intp], amounts: Counts | None = None) -> Counts:
        """[N] how many of them each node can use: one of each, or these amounts."""
        of_network = nodes == NETWORK
        if amounts is None:
            return np.bincount(nodes[~of_network], minlength=self._size) + np.count_nonzero(of_network)
        found: Counts = np.full(self._size, amounts[of_network].sum())
        np.add.at(found, nodes[~of_network], amounts[~of_network])
        return found
