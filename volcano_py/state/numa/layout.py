"""How the CPUs of a machine lie on its NUMA nodes, sockets and cores, and in which order they are taken."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from volcano_py.api.numa.cpu_lists import each_cpu

Place = tuple[int, int, int, int]
"""Ids of a CPU, its NUMA node, its socket, and its core in the socket."""


class Socket(msgspec.Struct, frozen=True):
    """`cpus` of the socket as bits, and of each of its `cores`, by their ids."""

    cpus: int
    cores: tuple[int, ...]


class Layout(msgspec.Struct, frozen=True, eq=False):
    """Machines that are built alike share one. Sets of CPUs are whole numbers, bit i for CPU i.

    Attributes:
        cpus: all of them.
        reserved: those that are kept for the system.
        ids: of the NUMA nodes, ascending.
        numa: the CPUs of each.
        sizes: how many these are.
        sockets: by their ids.
    """

    cpus: int
    reserved: int
    ids: tuple[int, ...]
    numa: tuple[int, ...]
    sizes: tuple[int, ...]
    sockets: tuple[Socket, ...]

    def counts(self, cpus: int) -> tuple[int, ...]:
        """How many of these CPUs are on each NUMA node."""
        return tuple([(cpus & node).bit_count() for node in self.numa])


@lru_cache(maxsize=1024)
def layout_of(places: tuple[Place, ...], reserved: int) -> Layout:
    """The layout of these CPUs, of which so many are reserved: always the same ones, the first to be taken."""
    numa, sockets = dict[int, int](), dict[int, dict[int, int]]()
    for cpu, node, socket, core in places:
        numa[node] = numa.get(node, 0) | 1 << cpu
        cores = sockets.setdefault(socket, {})
        cores[core] = cores.get(core, 0) | 1 << cpu
    ids = tuple(sorted(numa))
    layout = Layout(
        cpus=_union(numa.values()),
        reserved=0,
        ids=ids,
        numa=tuple(numa[node] for node in ids),
        sizes=tuple(numa[node].bit_count() for node in ids),
        sockets=tuple(
            Socket(_union(cores.values()), tuple(cores[core] for core in sorted(cores)))
            for _, cores in sorted(sockets.items())
        ),
    )
    return msgspec.structs.replace(layout, reserved=take(layout, layout.cpus, reserved))


def take(layout: Layout, free: int, count: int) -> int:
    """`count` of these free CPUs, or all if there are fewer, in the order of the kubelet's static policy: whole
    sockets, then whole cores, then single CPUs."""
    taken = 0
    for socket in layout.sockets:
        if _is_taken_whole(socket.cpus, free & ~taken, count - taken.bit_count()):
            taken |= socket.cpus
    for _, core in sorted(_free_cores(layout, free & ~taken)):
        if core.bit_count() <= count - taken.bit_count():
            taken |= core
    while taken.bit_count() < count and (left := free & ~taken):
        taken |= 1 << _next_cpu(layout, left, taken)
    return taken


def _is_taken_whole(part: int, free: int, count: int) -> bool:
    return part & ~free == 0 and part.bit_count() <= count


def _free_cores(layout: Layout, free: int) -> Iterable[tuple[tuple[int, int, int], int]]:
    """Cores of which all CPUs are free: those of the sockets that have the fewest of them come first."""
    for number, socket in enumerate(layout.sockets):
        whole = [(at, core) for at, core in enumerate(socket.cores) if core & ~free == 0]
        yield from (((len(whole), number, at), core) for at, core in whole)


def _next_cpu(layout: Layout, left: int, taken: int) -> int:
    """The next single CPU: of the socket of which most are taken, then of the one with the fewest left, then of the
    core with the fewest left."""
    _, cpus = min(
        (
            (
                -(taken & socket.cpus).bit_count(),
                (left & socket.cpus).bit_count(),
                (left & core).bit_count(),
                at,
                place,
            ),
            left & core,
        )
        for at, socket in enumerate(layout.sockets)
        for place, core in enumerate(socket.cores)
        if left & core
    )
    return next(each_cpu(cpus))


def _union(sets: Iterable[int]) -> int:
    found = 0
    for each in sets:
        found |= each
    return found
