"""The plain load: equal nodes, and equal pods in gangs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from volcano_py.api.objects import ObjectMeta, Queue, ResourceList
from volcano_py.bench.loads.objects import group, node, pod
from volcano_py.cluster.manifests import Stored

QUEUE: Final = "bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """`pods` pods in gangs of `gang` for `nodes` equal nodes; `gang` 1 gives every pod a PodGroup of its own."""

    nodes: int
    pods: int
    gang: int = 100
    pod_request: tuple[str, str] = ("1", "1Gi")
    node_allocatable: tuple[str, str] = ("32", "64Gi")

    @property
    def allocatable(self) -> ResourceList:
        cpu, memory = self.node_allocatable
        return {"cpu": cpu, "memory": memory, "pods": "110"}

    @property
    def request(self) -> ResourceList:
        cpu, memory = self.pod_request
        return {"cpu": cpu, "memory": memory}

    def items(self) -> Iterator[Stored]:
        """All objects, as an API server would have them."""
        yield "Queue", Queue(metadata=ObjectMeta(name=QUEUE, uid=QUEUE))
        for index in range(self.nodes):
            yield "Node", node(f"node-{index:05d}", self.allocatable)
        for number in range(-(-self.pods // self.gang)):
            name, members = f"gang-{number:06d}", min(self.gang, self.pods - number * self.gang)
            yield "PodGroup", group(name, members, QUEUE, born=number)
            for member in range(members):
                yield "Pod", pod(name, member, self.request, born=number)
