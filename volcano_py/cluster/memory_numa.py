"""Volcano's resource-exporter over objects in memory: CPUs of pods that are gone are shown as free."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from volcano_py.api.numa.cpu_lists import read_cpus, write_cpus
from volcano_py.api.numa.topologies import Numatopology, PodAllocation
from volcano_py.api.objects import Pod

_CPU: Final = "cpu"


def released(topology: Numatopology, pod: Pod) -> Numatopology:
    """The object of the node that the pod has left; the same if it does not say which CPUs the pod has."""
    spec = topology.spec
    its = [each for each in spec.pod_allocations if _is_of(each, pod)]
    cpu = spec.numares.get(_CPU)
    if not its or cpu is None:
        return topology
    try:
        free = read_cpus(cpu.allocatable) | _cpus(its)
    except ValueError:  # (what cannot be read is reported by the state)
        return topology
    numares = {**spec.numares, _CPU: replace(cpu, allocatable=write_cpus(free))}
    others = [each for each in spec.pod_allocations if each not in its]
    return replace(topology, spec=replace(spec, numares=numares, pod_allocations=others))


def _is_of(allocation: PodAllocation, pod: Pod) -> bool:
    meta = pod.metadata
    if allocation.uid:
        return allocation.uid == meta.uid
    return (allocation.namespace, allocation.name) == (meta.namespace, meta.name)


def _cpus(allocations: Iterable[PodAllocation]) -> int:
    found = 0
    for each in allocations:
        for container in each.container_allocations:
            found |= read_cpus(container.allocations.get(_CPU, ""))
    return found
