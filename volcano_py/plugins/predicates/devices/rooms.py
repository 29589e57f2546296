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
from volcano_py.state.devices.needs import ALL, OpenDevices
from volcano_py.state.nodes.terms import Mask

NETWORK: Final = -1
"""As the node of a device: it can be used from all nodes."""
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


def rooms_of(asked: Sequence[tuple[Mask, int]], free: Mask, node_of: NDArray[np.intp], size: int) -> Rooms:
    """Requests of one pod, each with the devices [D] that it selects and their number; there is at least one.

    On a node where the candidates of any two requests are the same or have nothing in common, the answer is exact.
    Elsewhere it says how many pods could be served if devices were handed out with all of them in view; one after the
    other, a pod may take what only the next one could use.

    Args:
        free: [D] devices that no claim has.
        node_of: [D] the row of the only node that can use the device, or `NETWORK`.
        size: how many nodes there are.
    """
    needed: dict[bytes, int] = {}
    masks: dict[bytes, Mask] = {}
    for mask, count in asked:
        candidates = mask & free
        key = candidates.tobytes()
        masks[key] = candidates
        needed[key] = needed.get(key, 0) + count
    sets, counts = list(masks.values()), list(needed.values())
    everything = tuple(range(len(sets)))
    sizes = range(1, len(sets) + 1) if len(sets) <= _MOST_SETS else (1,)
    unions = {*(union for length in sizes for union in combinations(everything, length)), everything}
    room = np.full(size, np.iinfo(np.int64).max, dtype=np.int64)
    for union in sorted(unions):
        have = _per_node(np.logical_or.reduce([sets[at] for at in union]), node_of, size)
        np.minimum(room, have // sum(counts[at] for at in union), out=room)
    return Rooms(room, _is_clear(sets, node_of, size))


def _is_clear(sets: Sequence[Mask], node_of: NDArray[np.intp], size: int) -> Mask:
    """[N] whether any two of the sets are, as far as the node sees them, the same or disjoint."""
    clear = np.ones(size, dtype=np.bool_)
    for one, other in combinations(sets, 2):
        common, different = _per_node(one & other, node_of, size), _per_node(one ^ other, node_of, size)
        clear &= (common == 0) | (different == 0)
    return clear


def _per_node(devices: Mask, node_of: NDArray[np.intp], size: int) -> Counts:
    """[N] how many of them each node can use."""
    nodes = node_of[devices]
    of_network = nodes == NETWORK
    found: Counts = np.bincount(nodes[~of_network], minlength=size) + np.count_nonzero(of_network)
    return found
