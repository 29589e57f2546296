"""A full cluster and many waiting pods: once with a higher priority than what runs, and once with the same.

The latter is the state of a busy cluster most of the time. What runs are elastic jobs, which lose one pod after
the other, or gangs that need all their pods, which are evicted whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec

from volcano_py.api.objects import ObjectMeta, PriorityClass, Queue, ResourceList
from volcano_py.bench.loads.cases import Case
from volcano_py.bench.loads.objects import group, node, pod
from volcano_py.cluster.manifests import Stored

NODES: Final = 1_000
LARGE: Final = 10_000
PER_NODE: Final = 10
"""Running pods of one CPU on each node, which is full with them."""
WAITING: Final = 500


class Running(msgspec.Struct, frozen=True):
    """Jobs that run: how many pods each has, and how many it needs."""

    name: str
    pods: int
    minimum: int


ELASTIC: Final = Running("elastic jobs", pods=PER_NODE, minimum=1)
GANGS: Final = Running("gangs of 8", pods=8, minimum=8)

_QUEUE: Final = "bench"
_URGENT: Final = "urgent"
_CONFIGURATION: Final = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: drf, enablePreemptable: false}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""


def preemption_cases(nodes: int = NODES, waiting: int = WAITING, large: int = LARGE) -> list[Case]:
    """Each pod that waits asks for two CPUs: the place of two."""
    return [
        Case("higher priority than elastic jobs", partial(_cluster, nodes, waiting, _URGENT, ELASTIC), _CONFIGURATION),
        Case("higher priority than gangs of 8", partial(_cluster, nodes, waiting, _URGENT, GANGS), _CONFIGURATION),
        Case(
            f"higher priority than gangs of 8, {large:,} nodes",
            partial(_cluster, large, waiting, _URGENT, GANGS),
            _CONFIGURATION,
        ),
        Case("equal priority", partial(_cluster, nodes, waiting, "", ELASTIC), _CONFIGURATION),
    ]


def _cluster(nodes: int, waiting: int, priority_class: str, running: Running) -> Iterator[Stored]:
    yield "Queue", Queue(metadata=ObjectMeta(name=_QUEUE, uid=_QUEUE))
    yield "PriorityClass", PriorityClass(metadata=ObjectMeta(name=_URGENT, uid=_URGENT), value=1000)
    yield from full_nodes(nodes, running, lambda _: _QUEUE)
    large: ResourceList = {"cpu": "2", "memory": "2Gi"}
    for number in range(waiting):
        name = f"wait-{number:05d}"
        yield "PodGroup", group(name, 1, _QUEUE, priority_class=priority_class, phase="Inqueue")
        yield "Pod", pod(name, 0, large, priority=1000 if priority_class else 0)


def full_nodes(nodes: int, running: Running, queue_of: Callable[[int], str]) -> Iterator[Stored]:
    """Nodes full of jobs whose pods are on neighboring nodes; `queue_of` gives the queue of each job by its number."""
    allocatable: ResourceList = {"cpu": str(PER_NODE), "memory": "64Gi", "pods": "110"}
    small: ResourceList = {"cpu": "1", "memory": "1Gi"}
    for number in range(nodes):
        yield "Node", node(f"node-{number:05d}", allocatable)
    for number in range(nodes * PER_NODE // running.pods):
        name = f"run-{number:05d}"
        yield "PodGroup", group(name, running.minimum, queue_of(number), phase="Running")
        for member in range(running.pods):
            on = f"node-{(number * running.pods + member) % nodes:05d}"
            yield "Pod", pod(name, member, small, on=on)
