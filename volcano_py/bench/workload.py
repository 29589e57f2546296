"""Generated clusters and loads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from volcano_py.api import names
from volcano_py.api.objects import (
    Container,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodGroup,
    PodGroupSpec,
    PodSpec,
    Queue,
    ResourceList,
    ResourceRequirements,
)
from volcano_py.cluster.manifests import EPOCH, Stored

NAMESPACE: Final = "bench"
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

    def items(self) -> list[Stored]:
        """All objects, as an API server would have them."""
        items: list[Stored] = [("Queue", Queue(metadata=ObjectMeta(name=QUEUE, uid=QUEUE)))]
        items.extend(("Node", self._node(index)) for index in range(self.nodes))
        for group in range(-(-self.pods // self.gang)):
            members = min(self.gang, self.pods - group * self.gang)
            items.append(("PodGroup", self._group(group, members)))
            items.extend(("Pod", self._pod(group, member)) for member in range(members))
        return items

    def _node(self, index: int) -> Node:
        name = f"node-{index:05d}"
        return Node(
            metadata=ObjectMeta(name=name, uid=name, labels={"kubernetes.io/hostname": name}),
            status=NodeStatus(allocatable=self.allocatable),
        )

    def _group(self, index: int, members: int) -> PodGroup:
        name = f"gang-{index:06d}"
        metadata = ObjectMeta(
            name=name, namespace=NAMESPACE, uid=name, creation_timestamp=EPOCH + timedelta(milliseconds=index)
        )
        return PodGroup(metadata=metadata, spec=PodGroupSpec(min_member=members, queue=QUEUE))

    def _pod(self, group: int, member: int) -> Pod:
        gang = f"gang-{group:06d}"
        name = f"{gang}-{member}"
        metadata = ObjectMeta(
            name=name,
            namespace=NAMESPACE,
            uid=name,
            creation_timestamp=EPOCH + timedelta(milliseconds=group),
            annotations={names.GROUP_NAME: gang},
        )
        container = Container(name="main", image="bench", resources=ResourceRequirements(requests=self.request))
        return Pod(metadata=metadata, spec=PodSpec(scheduler_name=names.DEFAULT_SCHEDULER_NAME, containers=[container]))
