"""Which NUMA nodes the CPUs of a container come from, on many nodes at once, as the kubelet's topology manager chooses.

A hint is a set of NUMA nodes whose free CPUs suffice. It is preferred if it has as few of them as the smallest set
whose CPUs would suffice if all were free. With one provider of hints, the CPU manager, the best one is the one with the
fewest NUMA nodes, then with the lowest ones: no other set is preferred if that one is not, as a set whose free CPUs
suffice also suffices when all are free. Source: Kubernetes, pkg/kubelet/cm/topologymanager and cpumanager.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.state.numa.asked import BEST_EFFORT, RESTRICTED, SINGLE, STRICT, CpusAsked
from volcano_py.state.numa.layout import Layout, take

Counts = NDArray[np.int64]
"""[K, W] free CPUs of each NUMA node, of K nodes."""
Mask = NDArray[np.bool_]


class _Sets(msgspec.Struct, frozen=True, eq=False):
    """All sets of NUMA nodes but the empty one, those with the fewest first, then by their lowest.

    Attributes:
        members: [S, W] 1 for each NUMA node in the set.
        bits: [S] the set as a number, bit i for the i-th NUMA node.
        sizes: [S]
    """

    members: Counts
    bits: Counts
    sizes: Counts


@lru_cache(maxsize=16)
def _sets(width: int) -> _Sets:
    ordered = sorted(range(1, 2**width), key=lambda bits: (bits.bit_count(), bits))
    members = np.array([[bits >> place & 1 for place in range(width)] for bits in ordered], dtype=np.int64)
    return _Sets(members, np.array(ordered, dtype=np.int64), members.sum(axis=1))


class Hints(msgspec.Struct, frozen=True, eq=False):
    """The best hint of a container on each of K nodes.

    Attributes:
        bits: [K] the set of NUMA nodes as a number; 0 where no set suffices.
        width: [K] how many they are.
        is_preferred: [K]
    """

    bits: Counts
    width: Counts
    is_preferred: Mask

    def admits(self, is_strict: Mask, is_single: Mask) -> Mask:
        """[K] whether the node's policy admits it; `is_strict`: only a preferred hint, `is_single`: of one node."""
        admits: Mask = ~is_strict | (self.is_preferred & (~is_single | (self.width == 1)))
        return admits


def best_hints(free: Counts, sizes: tuple[int, ...], cores: int) -> Hints:
    """For a container that asks for `cores`, where NUMA nodes have `free` CPUs of `sizes`."""
    sets = _sets(len(sizes))
    suffices = free @ sets.members.T >= cores
    exists = suffices.any(axis=1)
    best = suffices.argmax(axis=1)
    bits, width = np.where(exists, sets.bits[best], 0), np.where(exists, sets.sizes[best], 0)
    return Hints(bits, width, exists & (width == fewest(sizes, cores)))


def fewest(sizes: tuple[int, ...], cores: int) -> int:
    """The least number of NUMA nodes of these sizes that have so many CPUs; 0 if all together have fewer."""
    total = 0
    for number, size in enumerate(sorted(sizes, reverse=True), start=1):
        total += size
        if total >= cores:
            return number
    return 0


class Judged(msgspec.Struct, frozen=True, eq=False):
    """What one more pod gets on each of K nodes.

    Attributes:
        is_admitted: [K]
        used: [K] how many NUMA nodes its CPUs come from.
    """

    is_admitted: Mask
    used: Counts


class Policies(msgspec.Struct, frozen=True, eq=False):
    """[K] which nodes admit only containers with a preferred hint, and only with one NUMA node in it."""

    is_strict: Mask
    is_single: Mask

    def at(self, places: NDArray[np.intp]) -> Policies:
        """Of these nodes alone."""
        return Policies(self.is_strict[places], self.is_single[places])


def judge(layout: Layout, counts: Counts, asked: CpusAsked, policies: Policies, free: Callable[[int], int]) -> Judged:
    """One more pod on each of K nodes of one layout, with so many free CPUs: `counts` [K, W]. `free(k)` are these CPUs.

    Numbers suffice as long as each container but the last gets CPUs of one NUMA node, as it is known which has fewer
    then. Other nodes are looked at CPU by CPU.
    """
    counts = counts.copy()
    is_admitted = np.ones(len(counts), dtype=np.bool_)
    bits, unsure = np.zeros(len(counts), dtype=np.int64), np.zeros(len(counts), dtype=np.bool_)
    for number, cores in enumerate(asked.cores, start=1):
        hints = best_hints(counts, layout.sizes, cores)
        is_admitted &= unsure | hints.admits(policies.is_strict, policies.is_single)
        bits |= np.where(hints.bits == 0, _bits_of(counts > 0), hints.bits)
        if number == len(asked.cores) or not is_admitted.any():
            break
        unsure |= is_admitted & (hints.width > 1)
        counts -= cores * _members(hints.bits, counts.shape[1]) * (hints.width == 1)[:, None]
        counts[hints.bits == 0] = 0
        np.maximum(counts, 0, out=counts)
    used = _bit_counts(bits)
    for place in np.flatnonzero(unsure).tolist():
        found = choose(layout, free(place), asked.cores, _policy(policies, place))
        is_admitted[place] = found is not None
        if found is not None:
            used[place] = sum(1 for node in layout.numa if node & found)
    return Judged(is_admitted, used)


def choose(layout: Layout, free: int, cores: tuple[int, ...], policy: str) -> int | None:
    """The CPUs that containers with these cores get together, one after the other; None if the policy refuses them.
    Without a strict one, containers get what is left."""
    taken, is_single = 0, np.array([policy == SINGLE])
    is_strict = np.array([policy in STRICT])
    for wanted in cores:
        left = free & ~taken
        hints = best_hints(np.array([layout.counts(left)]), layout.sizes, wanted)
        if not hints.admits(is_strict, is_single)[0]:
            return None
        near = _cpus_of(layout, int(hints.bits[0])) & left
        got = take(layout, near, wanted)
        taken |= got | take(layout, left & ~near, wanted - got.bit_count())
    return taken


def choose_anyhow(layout: Layout, free: int, cores: tuple[int, ...], policy: str) -> int:
    """The same, for a pod that gets a place there; if the policy refuses it, it gets what is left: nothing may be given
    twice."""
    found = choose(layout, free, cores, policy)
    return found if found is not None else choose(layout, free, cores, BEST_EFFORT) or 0


def _policy(policies: Policies, place: int) -> str:
    if not policies.is_strict[place]:
        return ""
    return SINGLE if policies.is_single[place] else RESTRICTED


def _cpus_of(layout: Layout, bits: int) -> int:
    found = 0
    for place, node in enumerate(layout.numa):
        if bits >> place & 1:
            found |= node
    return found


def _members(bits: Counts, width: int) -> Counts:
    """[K, W] 1 for each NUMA node in the set."""
    return bits[:, None] >> np.arange(width) & 1


def _bits_of(members: Mask) -> Counts:
    """[K] the sets as numbers."""
    bits: Counts = (members << np.arange(members.shape[1])).sum(axis=1)
    return bits


def _bit_counts(bits: Counts) -> Counts:
    return np.bitwise_count(bits).astype(np.int64)
