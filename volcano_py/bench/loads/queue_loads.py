"""Many queues in a tree: what the order between them costs, by each plugin that makes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Final

from volcano_py.api.names import HIERARCHY, HIERARCHY_WEIGHTS
from volcano_py.api.objects import ObjectMeta, Queue, QueueSpec, ResourceList
from volcano_py.bench.loads.cases import Case
from volcano_py.bench.loads.objects import group, node, pod
from volcano_py.cluster.manifests import Stored

A_SIDE: Final = 10
"""Queues are /a/b/c/leaf, with so many names at each of the first three levels and one at the last: 1,000 of them."""
A_SIDE_LEVELS: Final = 3
PODS: Final = 20_000
NODES: Final = 1_000

_CONFIGURATION: Final = """
actions: "enqueue, allocate"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}]
- plugins: [{plugins}, {{name: predicates}}]
"""


def tree_cases(pods: int = PODS, nodes: int = NODES) -> list[Case]:
    """Jobs of one pod, so that every pod is a turn of its own; there is more room than work."""
    by_annotation, by_parent = (
        partial(_cluster, pods, nodes, _by_annotation),
        partial(_cluster, pods, nodes, _by_parent),
    )
    return [
        Case(name, items, _CONFIGURATION.format(plugins=plugins))
        for name, items, plugins in (
            ("drf, enableHierarchy", by_annotation, "{name: drf, enableHierarchy: true}"),
            ("capacity, enableHierarchy", by_parent, "{name: drf}, {name: capacity, enableHierarchy: true}"),
            ("proportion, enableHierarchy", by_parent, "{name: drf}, {name: proportion, enableHierarchy: true}"),
            ("proportion, without a tree", by_annotation, "{name: drf}, {name: proportion}"),
        )
    ]


def _cluster(pods: int, nodes: int, queues: Callable[[], Iterator[Queue]]) -> Iterator[Stored]:
    allocatable: ResourceList = {"cpu": "32", "memory": "64Gi", "pods": "110"}
    request: ResourceList = {"cpu": "1", "memory": "1Gi"}
    for number in range(nodes):
        yield "Node", node(f"node-{number:05d}", allocatable)
    for queue in queues():
        yield "Queue", queue
    leaves = [_leaf(*branch) for branch in _branches()]
    for number in range(pods):
        name = f"job-{number:05d}"
        yield "PodGroup", group(name, 1, leaves[number % len(leaves)])
        yield "Pod", pod(name, 0, request)


def _branches() -> Iterator[tuple[str, str, str]]:
    names = [str(number) for number in range(A_SIDE)]
    return product(names, names, names)


def _leaf(*branch: str) -> str:
    return f"leaf-{''.join(branch)}"


def _by_annotation() -> Iterator[Queue]:
    """The leaves, with the path and the weights that drf reads."""
    for number, (a, b, c) in enumerate(_branches()):
        annotations = {
            HIERARCHY: f"root/{a}/{b}/{c}/{_leaf(a, b, c)}",
            HIERARCHY_WEIGHTS: f"1/1/2/{1 + number % 3}/1",
        }
        yield Queue(metadata=ObjectMeta(name=_leaf(a, b, c), uid=_leaf(a, b, c), annotations=annotations))


def _by_parent() -> Iterator[Queue]:
    """Every node of the tree is a queue that deserves its part."""
    made: set[str] = set()
    for branch in _branches():
        parent = ""
        for depth in range(1, A_SIDE_LEVELS + 1):
            name = f"inner-{''.join(branch[:depth])}"
            if name not in made:
                made.add(name)
                yield _queue(name, parent, PODS // A_SIDE**depth)
            parent = name
        yield _queue(_leaf(*branch), parent, PODS // A_SIDE**A_SIDE_LEVELS)


def _queue(name: str, parent: str, pods: int) -> Queue:
    deserved: ResourceList = {"cpu": str(pods), "memory": f"{pods}Gi"}
    return Queue(metadata=ObjectMeta(name=name, uid=name), spec=QueueSpec(parent=parent, deserved=deserved))
