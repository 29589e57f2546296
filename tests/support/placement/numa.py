"""Nodes with NUMA nodes, and pods that get CPUs of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tests.support.sessions import pod
from volcano_py.api.names import NUMA_POLICY
from volcano_py.api.numa.topologies import (
    ContainerAllocation,
    CpuPlace,
    Numatopology,
    NumatopologySpec,
    PodAllocation,
    ResourceOfNode,
)
from volcano_py.api.objects import Container, ObjectMeta, Pod, ResourceRequirements

Places = Sequence[tuple[int, int, int, int]]
"""CPU, NUMA node, socket, core."""


def places(*sizes: int, threads: int = 1) -> list[tuple[int, int, int, int]]:
    """CPUs of NUMA nodes of these sizes, each on a socket of its own, with so many CPUs a core."""
    found: list[tuple[int, int, int, int]] = []
    for numa, size in enumerate(sizes):
        found += [(len(found) + number, numa, numa, number // threads) for number in range(size)]
    return found


def topology(
    name: str,
    cpus: Places,
    free: str | None = None,
    *,
    policy: str = "single-numa-node",
    manager: str = "static",
    reserved: str = "0",
    shown: Mapping[str, str] | None = None,
) -> Numatopology:
    """`free`: the list of CPUs; all but those of pods by default. `shown`: name of a pod → its CPUs."""
    allocations = [
        PodAllocation(
            name=pod_name,
            namespace="team",
            container_allocations=[ContainerAllocation(name="main", allocations={"cpu": listed})],
        )
        for pod_name, listed in (shown or {}).items()
    ]
    listed = ",".join(str(cpu) for cpu, *_ in cpus) if free is None else free
    return Numatopology(
        metadata=ObjectMeta(name=name, uid=f"numa-{name}"),
        spec=NumatopologySpec(
            policies={"CPUManagerPolicy": manager, "TopologyManagerPolicy": policy},
            res_reserved={"cpu": reserved},
            numares={"cpu": ResourceOfNode(allocatable=listed, capacity=len(cpus))},
            cpu_detail={str(cpu): CpuPlace(numa=numa, socket=socket, core=core) for cpu, numa, socket, core in cpus},
            pod_allocations=allocations,
        ),
    )


def pinned(
    name: str, *cpus: str | int, policy: str = "single-numa-node", group: str = "g", init: str = "", **fields: Any
) -> Pod:
    """A pod of the quality of service Guaranteed, with a container for each of these amounts of CPU."""
    marks = {NUMA_POLICY: policy} if policy else {}
    made = pod(name, group=group, annotations=marks, **fields)
    spec = replace(
        made.spec,
        containers=[_container(number, amount) for number, amount in enumerate(cpus)],
        init_containers=[_container(0, init)] if init else [],
    )
    return replace(made, spec=spec)


def _container(number: int, cpu: str | int) -> Container:
    amounts: dict[str, str | int | float] = {"cpu": str(cpu), "memory": "1Mi"}
    return Container(name=f"c{number}", resources=ResourceRequirements(limits=amounts, requests=dict(amounts)))
