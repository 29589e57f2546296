"""Small clusters that hypothesis makes up: nodes, queues, gangs and what runs already."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from volcano_py.api.names import GROUP_NAME
from volcano_py.api.objects import (
    ApiObject,
    Container,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    PodSpec,
    PodStatus,
    Queue,
    QueueSpec,
    ResourceRequirements,
    Taint,
)
from volcano_py.cluster.manifests import EPOCH, Stored

QUEUES = ("default", "q1", "q2")


def meta(name: str, age: int, namespace: str = "", **fields: Any) -> ObjectMeta:
    """Metadata of something created `age` seconds before virtual time begins."""
    born = EPOCH - timedelta(seconds=age)
    return ObjectMeta(name=name, namespace=namespace, uid=f"{namespace}-{name}", creation_timestamp=born, **fields)


def a_node(name: str, cpu: int, pods: int = 10, *, zone: str = "a", tainted: bool = False) -> Node:
    taints = [Taint(key="dedicated", value="x", effect="NoSchedule")] if tainted else []
    return Node(
        metadata=meta(name, 0, labels={"zone": zone}),
        spec=NodeSpec(taints=taints),
        status=NodeStatus(allocatable={"cpu": str(cpu), "memory": "64Gi", "pods": str(pods)}),
    )


def a_pod(name: str, group: str, cpu: int, *, age: int = 0, on: str = "", zone: str = "", priority: int = 0) -> Pod:
    return Pod(
        metadata=meta(name, age, "team", annotations={GROUP_NAME: group} if group else {}),
        spec=PodSpec(
            scheduler_name="volcano" if group else "default-scheduler",
            node_name=on,
            node_selector={"zone": zone} if zone else {},
            priority=priority,
            containers=[Container(resources=ResourceRequirements(requests={"cpu": str(cpu)} if cpu else {}))],
        ),
        status=PodStatus(phase="Running" if on else "Pending"),
    )


def a_group(name: str, minimum: int, queue: str = "default", *, age: int = 0, phase: str = "Pending") -> PodGroup:
    return PodGroup(
        metadata=meta(name, age, "team"),
        spec=PodGroupSpec(min_member=minimum, queue=queue),
        status=PodGroupStatus(phase=phase),
    )


@dataclass(frozen=True)
class Job:
    """A PodGroup and its pods, all with the same request, except that the last `best_effort` ones have none."""

    name: str
    pods: int
    minimum: int
    cpu: int
    queue: str
    zone: str
    age: int
    priority: int
    best_effort: int = 0

    def objects(self) -> list[ApiObject]:
        return [
            a_group(self.name, self.minimum, self.queue, age=self.age),
            *[self._pod(index, 0 if index >= self.pods - self.best_effort else self.cpu) for index in range(self.pods)],
        ]

    def _pod(self, index: int, cpu: int) -> Pod:
        name = f"{self.name}-{index}"
        return a_pod(name, self.name, cpu, age=self.age, zone=self.zone, priority=self.priority)


@dataclass(frozen=True)
class Cluster:
    """`running` pods belong to no PodGroup of ours; they fit where they are."""

    nodes: tuple[Node, ...]
    queues: tuple[Queue, ...]
    jobs: tuple[Job, ...]
    running: tuple[Pod, ...]

    def stored(self) -> list[Stored]:
        objects: list[ApiObject] = [*self.nodes, *self.queues, *self.running]
        for job in self.jobs:
            objects.extend(job.objects())
        return [(type(obj).__name__, obj) for obj in objects]


@st.composite
def clusters(draw: st.DrawFn, most_jobs: int = 6) -> Cluster:
    """At most 4 nodes and some 30 pods."""
    number = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(1, 8), min_size=number, max_size=number))
    nodes = tuple(
        a_node(
            f"n{index}",
            size,
            draw(st.sampled_from([2, 4, 10])),
            zone=draw(st.sampled_from("ab")),
            tainted=draw(st.integers(0, 9)) == 0,
        )
        for index, size in enumerate(sizes)
    )
    weights = draw(st.lists(st.integers(1, 3), min_size=len(QUEUES), max_size=len(QUEUES)))
    queues = tuple(
        Queue(metadata=meta(name, 9), spec=QueueSpec(weight=weight, capability=draw(capabilities())))
        for name, weight in zip(QUEUES, weights, strict=True)
    )
    jobs = []
    for index in range(draw(st.integers(0, most_jobs))):
        pods = draw(st.integers(0, 5))
        jobs.append(
            Job(
                name=f"j{index}",
                pods=pods,
                minimum=draw(st.sampled_from([0, 1, pods, pods, pods + 1])),
                cpu=draw(st.sampled_from([0, 1, 1, 2, 3, 9])),
                queue=draw(st.sampled_from(QUEUES)),
                zone=draw(st.sampled_from(["", "", "a", "b"])),
                age=draw(st.integers(0, 2)),
                priority=draw(st.integers(0, 1)),
                best_effort=draw(st.sampled_from([0, 0, 0, 1, 2])),
            )
        )
    running = tuple(
        a_pod(f"r{index}", "", min(size, 2), on=f"n{index}") for index, size in enumerate(sizes) if draw(st.booleans())
    )
    return Cluster(nodes, queues, tuple(jobs), running)


def capabilities() -> st.SearchStrategy[dict[str, str | int | float]]:
    return st.sampled_from([{}, {}, {"cpu": "3"}, {"cpu": "6", "memory": "32Gi"}])
