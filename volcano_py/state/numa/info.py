"""What is read of one Numatopology."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Final

import msgspec

from volcano_py.api.annotations.reading import Unreadable
from volcano_py.api.bounds import CPUS, NUMA_NODES
from volcano_py.api.effects import ObjectRef
from volcano_py.api.numa.cpu_lists import read_cpus
from volcano_py.api.numa.topologies import (
    CPU_MANAGER_POLICY,
    NUMATOPOLOGY,
    TOPOLOGY_MANAGER_POLICY,
    Numatopology,
    NumatopologySpec,
    PodAllocation,
)
from volcano_py.api.quantity import QuantityError, parse_quantity
from volcano_py.api.wording.explain import cut
from volcano_py.state.numa.layout import Layout, Place, layout_of

CPU: Final = "cpu"
STATIC: Final = "static"
"""The CPU manager's policy under which pods get CPUs of their own."""
_NO_PLACES: Final = "no pod with a NUMA policy is placed there"


class Shown(msgspec.Struct, frozen=True):
    """A pod that the object names, by `uid` if it has one, else by `key` (namespace/name), and the CPUs that it has."""

    uid: str
    key: str
    cpus: int


class NumaInfo(msgspec.Struct, frozen=True):
    """One node. Sets of CPUs are whole numbers, see `Layout`.

    Attributes:
        ref: the object.
        cpu_policy: of the kubelet's CPU manager.
        policy: of its topology manager.
        layout: None if it is not known.
        listed: CPUs that no pod has, as the object lists them.
        shown: pods that have CPUs of their own, and only these; some exporters do not say which.
        unreadable: what of the object cannot be read.
    """

    ref: ObjectRef
    cpu_policy: str = ""
    policy: str = ""
    layout: Layout | None = None
    listed: int = 0
    shown: tuple[Shown, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()

    @property
    def is_static(self) -> bool:
        """Whether pods get CPUs of their own there."""
        return self.cpu_policy == STATIC

    @property
    def free(self) -> int:
        """CPUs that no pod has and that are not reserved."""
        return 0 if self.layout is None else self.listed & ~self.layout.reserved

    @property
    def given(self) -> int:
        """How many CPUs pods have. Some exporters list reserved CPUs, others do not; no pod gets them."""
        return 0 if self.layout is None else (self.layout.cpus & ~self.layout.reserved & ~self.listed).bit_count()


def read_topology(obj: Numatopology) -> NumaInfo:
    """What can be used of the object; the rest is among `unreadable`."""
    spec, unreadable = obj.spec, list[Unreadable]()
    layout = _layout(spec, unreadable)
    listed = (
        _cpus(spec.numares[CPU].allocatable, "spec.numares.cpu.allocatable", unreadable) if CPU in spec.numares else 0
    )
    return NumaInfo(
        ref=ObjectRef(NUMATOPOLOGY, "", obj.metadata.name, obj.metadata.uid),
        cpu_policy=spec.policies.get(CPU_MANAGER_POLICY, ""),
        policy=spec.policies.get(TOPOLOGY_MANAGER_POLICY, ""),
        layout=layout if CPU in spec.numares else None,
        listed=0 if layout is None else listed & layout.cpus,
        shown=() if layout is None else tuple(_shown(spec.pod_allocations, layout, unreadable)),
        unreadable=tuple(unreadable),
    )


def _layout(spec: NumatopologySpec, unreadable: list[Unreadable]) -> Layout | None:
    """None where no CPU has a place, or what is said of places is beyond a bound."""
    places = list[Place]()
    for cpu, place in sorted(spec.cpu_detail.items()):
        if not (cpu.isascii() and cpu.isdigit()) or len(cpu) > len(str(CPUS.most)) or int(cpu) >= CPUS.most:
            fix = f"CPUs are numbers from 0 to {CPUS.most - 1}"
            unreadable.append(Unreadable("spec.cpuDetail", cut(cpu), fix, _NO_PLACES))
            return None
        places.append((int(cpu), place.numa, place.socket, place.core))
    if (nodes := len({numa for _, numa, _, _ in places})) > NUMA_NODES.most:
        fix = f"at most {NUMA_NODES.most} NUMA nodes are evaluated"
        unreadable.append(Unreadable("spec.cpuDetail", f"{nodes} NUMA nodes", fix, _NO_PLACES))
        return None
    return layout_of(tuple(sorted(places)), _reserved(spec, unreadable)) if places else None


def _reserved(spec: NumatopologySpec, unreadable: list[Unreadable]) -> int:
    text = spec.res_reserved.get(CPU, 0)
    try:
        return min(max(ceil(parse_quantity(text)), 0), CPUS.most)
    except QuantityError:
        field = "spec.resReserved.cpu"
        unreadable.append(
            Unreadable(field, cut(str(text)), "write an amount such as 500m", "no CPU counts as reserved")
        )
        return 0


def _shown(allocations: Iterable[PodAllocation], layout: Layout, unreadable: list[Unreadable]) -> Iterable[Shown]:
    for each in allocations:
        cpus = 0
        for container in each.container_allocations:
            pod = f"{each.namespace}/{each.name}" if each.name else f"pod {each.uid}"
            field = f"spec.podAllocations of {cut(pod)}"
            cpus |= _cpus(container.allocations.get(CPU, ""), field, unreadable) & layout.cpus
        if cpus:  # (those without any, which may have ended, are not awaited when they leave)
            yield Shown(each.uid, f"{each.namespace}/{each.name}" if each.name else "", cpus)


def _cpus(text: str, field: str, unreadable: list[Unreadable]) -> int:
    try:
        return read_cpus(text)
    except ValueError as error:
        fix = f"{error}; write a list such as 0-3,8"
        unreadable.append(Unreadable(field, cut(text), fix, "it counts as empty"))
        return 0
