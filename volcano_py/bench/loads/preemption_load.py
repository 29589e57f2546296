"""A full cluster and many who want in: once they are more important than what runs, and once they are not.

The latter is what a busy cluster is in most of the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from volcano_py.api.objects import ObjectMeta, PriorityClass, Queue, ResourceList
from volcano_py.bench.loads.cases import Case
from volcano_py.bench.loads.objects import group, node, pod
from volcano_py.cluster.manifests import Stored

NODES: Final = 1_000
PER_NODE: Final = 10
"""Running pods of one CPU on each node, which is full with them; gangs are as large, and needed whole."""
WAITING: Final = 500

_QUEUE: Final = "bench"
_URGENT: Final = "urgent"
_CONFIGURATION: Final = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: drf, enablePreemptable: false}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""


def preemption_cases(nodes: int = NODES, waiting: int = WAITING) -> list[Case]:
    """Each pod that waits asks for two CPUs: the place of two."""
    return [
        Case(name, partial(_cluster, nodes, waiting, priority_class), _CONFIGURATION)
        for name, priority_class in (("more important", _URGENT), ("not more important", ""))
    ]


def _cluster(nodes: int, waiting: int, priority_class: str) -> Iterator[Stored]:
    yield "Queue", Queue(metadata=ObjectMeta(name=_QUEUE, uid=_QUEUE))
    yield "PriorityClass", PriorityClass(metadata=ObjectMeta(name=_URGENT, uid=_URGENT), value=1000)
    allocatable: ResourceList = {"cpu": str(PER_NODE), "memory": "64Gi", "pods": "110"}
    small: ResourceList = {"cpu": "1", "memory": "1Gi"}
    large: ResourceList = {"cpu": "2", "memory": "2Gi"}
    for number in range(nodes):
        yield "Node", node(f"node-{number:05d}", allocatable)
    for number in range(nodes):
        name = f"run-{number:05d}"
        yield "PodGroup", group(name, PER_NODE, _QUEUE, phase="Running")
        for member in range(PER_NODE):
            yield "Pod", pod(name, member, small, on=f"node-{(number * PER_NODE + member) % nodes:05d}")
    for number in range(waiting):
        name = f"wait-{number:05d}"
        yield "PodGroup", group(name, 1, _QUEUE, priority_class=priority_class, phase="Inqueue")
        yield "Pod", pod(name, 0, large, priority=1000 if priority_class else 0)
