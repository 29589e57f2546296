"""What belongs to one node: its storage drivers, its devices and its CPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce

from msgspec.structs import replace

from volcano_py.api.devices.slices import ResourceSlice
from volcano_py.api.numa.topologies import NUMATOPOLOGY, Numatopology, ResourceOfNode
from volcano_py.api.objects import ApiObject, ObjectMeta, Pod
from volcano_py.api.volumes import CSINode
from volcano_py.cluster.manifests import Stored
from volcano_py.cluster.memory_numa import released


def is_of(obj: ApiObject, node: str) -> bool:
    """Whether the object belongs to the node of that name alone."""
    if isinstance(obj, ResourceSlice):
        return obj.spec.node_name == node
    return isinstance(obj, CSINode | Numatopology) and obj.metadata.name == node


def like_those_of(items: Iterable[Stored], node: str, names: Sequence[str]) -> list[Stored]:
    """The same for new nodes of these names. Their devices are in pools of their own, and all their CPUs are free."""
    drivers, slices, cpus = list[CSINode](), list[ResourceSlice](), list[Numatopology]()
    for _, obj in items:
        if isinstance(obj, CSINode) and is_of(obj, node):
            drivers.append(obj)
        elif isinstance(obj, ResourceSlice) and is_of(obj, node):
            slices.append(obj)
        elif isinstance(obj, Numatopology) and is_of(obj, node):
            cpus.append(obj)
    slices = _newest(slices)
    sizes = Counter(each.pool_key for each in slices)
    found: list[Stored] = []
    for name in names:
        found += [("CSINode", replace(each, metadata=renamed(each.metadata, name))) for each in drivers]
        found += [(NUMATOPOLOGY, _unused(each, name)) for each in cpus]
        for each in slices:
            count = sizes[each.pool_key]
            pool = replace(each.spec.pool, name=f"{each.spec.pool.name}-{name}", resource_slice_count=count)
            metadata = renamed(each.metadata, f"{each.metadata.name}-{name}")
            spec = replace(each.spec, node_name=name, pool=pool)
            found.append(("ResourceSlice", replace(each, metadata=metadata, spec=spec)))
    return found


def with_freed_cpus(items: Iterable[Stored], gone: Iterable[Pod]) -> list[Stored]:
    """The objects, where Numatopologies show the CPUs of these pods as free."""
    left: dict[str, list[Pod]] = {}
    for pod in gone:
        left.setdefault(pod.spec.node_name, []).append(pod)

    def freed(obj: ApiObject) -> ApiObject:
        return reduce(released, left.get(obj.metadata.name, []), obj) if isinstance(obj, Numatopology) else obj

    return [(kind, freed(obj)) for kind, obj in items]


def _unused(topology: Numatopology, name: str) -> Numatopology:
    """The CPUs of another node of this name, without pods."""
    free = {
        "cpu": ResourceOfNode(allocatable=",".join(topology.spec.cpu_detail), capacity=len(topology.spec.cpu_detail))
    }
    numares = free if "cpu" in topology.spec.numares else {}
    spec = replace(topology.spec, numares=numares, pod_allocations=[])
    return replace(topology, metadata=renamed(topology.metadata, name), spec=spec)


def renamed(metadata: ObjectMeta, name: str) -> ObjectMeta:
    """That of another object."""
    return replace(metadata, name=name, uid=f"{metadata.uid}-{name}")


def _newest(slices: Sequence[ResourceSlice]) -> list[ResourceSlice]:
    """Those of the latest generation of each pool; others are about to go."""
    latest = {
        each.pool_key: each.spec.pool.generation for each in sorted(slices, key=lambda each: each.spec.pool.generation)
    }
    return [each for each in slices if each.spec.pool.generation == latest[each.pool_key]]
