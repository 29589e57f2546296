"""Numatopologies (`nodeinfo.volcano.sh/v1alpha1`): the CPUs of one node, and which of them are free.

Volcano's resource-exporter writes them, one for each node and named like it, and only when something changes. What is
said of other resources than CPUs is left out.
"""

from __future__ import annotations

from typing import Final

from volcano_py.api.objects import ApiObject, Integer, ObjectMeta, ResourceList

NODE_INFO_API: Final = "nodeinfo.volcano.sh/v1alpha1"
NUMATOPOLOGY: Final = "Numatopology"
CPU_MANAGER_POLICY: Final = "CPUManagerPolicy"
TOPOLOGY_MANAGER_POLICY: Final = "TopologyManagerPolicy"
"""Keys of `policies`; the values are the kubelet's."""


class CpuPlace(ApiObject, frozen=True):
    """Where a CPU is. Go clients leave out zeros. Ids of cores are unique within their socket only."""

    numa: Integer = 0
    socket: Integer = 0
    core: Integer = 0


class ResourceOfNode(ApiObject, frozen=True):
    """`allocatable` lists what is free now, such as `0-3,8`."""

    allocatable: str = ""
    capacity: Integer = 0


class ContainerAllocation(ApiObject, frozen=True):
    """`allocations`: resource → what the container has of it, as a list."""

    name: str = ""
    allocations: dict[str, str] = {}


class PodAllocation(ApiObject, frozen=True):
    """Which CPUs a pod has. Some exporters know its UID, the others its namespace and name."""

    uid: str = ""
    name: str = ""
    namespace: str = ""
    container_allocations: list[ContainerAllocation] = []


class NumatopologySpec(ApiObject, frozen=True):
    """`res_reserved`: what is kept for the system. `cpu_detail`: CPU → its place, for all CPUs."""

    policies: dict[str, str] = {}
    res_reserved: ResourceList = {}
    numares: dict[str, ResourceOfNode] = {}
    cpu_detail: dict[str, CpuPlace] = {}
    pod_allocations: list[PodAllocation] = []


class Numatopology(ApiObject, frozen=True):
    metadata: ObjectMeta
    spec: NumatopologySpec = NumatopologySpec()
