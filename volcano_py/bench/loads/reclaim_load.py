"""A full cluster in which a queue can reclaim half of it, and one in which it can reclaim nothing.

By each plugin that divides the cluster among queues, and by drf between the jobs of one queue. The second is the state
of a busy cluster most of the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from volcano_py.api.names import HIERARCHY, HIERARCHY_WEIGHTS
from volcano_py.api.objects import ObjectMeta, Queue, QueueSpec, ResourceList
from volcano_py.bench.loads.cases import Case
from volcano_py.bench.loads.objects import group, pod
from volcano_py.bench.loads.preemption_load import (
    ELASTIC,
    GANGS,
    LARGE,
    NODES,
    PER_NODE,
    WAITING,
    Running,
    full_nodes,
)
from volcano_py.cluster.manifests import Stored

_HOLDER: Final = "holder"
_CLAIMANT: Final = "claimant"
_RECLAIM: Final = """
actions: "enqueue, allocate, reclaim"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]
- plugins: [{{{owner}}}, {{name: predicates}}, {{name: nodeorder}}]
"""
_PREEMPT: Final = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority, enablePreemptable: false}, {name: gang, enablePreemptable: false}]
- plugins: [{name: drf}, {name: predicates}, {name: nodeorder}]
"""
_SINGLES: Final = Running("single pods", pods=1, minimum=1)


def reclaim_cases(nodes: int = NODES, waiting: int = WAITING, large: int = LARGE) -> list[Case]:
    """Each pod that waits asks for two CPUs: the place of two."""
    by_path = [_queue(_HOLDER, path="root/a/holder"), _queue(_CLAIMANT, path="root/b/claimant")]
    equal = [_queue(_HOLDER), _queue(_CLAIMANT)]
    half, all_of_it = nodes * PER_NODE // 2, nodes * PER_NODE
    queues = {
        # Plugin and switches → the queues when the claimant can reclaim half, and when it can reclaim nothing.
        "name: proportion": (equal, equal),
        "name: capacity": (_deserving(half), _deserving(all_of_it)),
        "name: capacity, enableHierarchy: true": (_departments(half), _departments(all_of_it)),
        "name: drf, enableHierarchy: true": (by_path, by_path),
    }
    cases = []
    for owner, (with_surplus, without) in queues.items():
        name, configuration = owner.removeprefix("name: ").removesuffix(": true"), _RECLAIM.format(owner=owner)
        cases += [
            Case(
                f"{name}: reclaim from {running.name}",
                partial(_cluster, nodes, waiting, with_surplus, running=running),
                configuration,
            )
            for running in (ELASTIC, GANGS)
        ]
        cases.append(
            Case(f"{name}: nothing to reclaim", partial(_cluster, nodes, waiting, without, claimants=2), configuration)
        )
    one = [_queue(_HOLDER)]
    return [
        *cases,
        Case(
            f"capacity: reclaim from {GANGS.name}, {large:,} nodes",
            partial(_cluster, large, waiting, _deserving(large * PER_NODE // 2), running=GANGS),
            _RECLAIM.format(owner="name: capacity"),
        ),
        Case(
            "drf between jobs: something to preempt", partial(_cluster, nodes, waiting, one, claimant=_HOLDER), _PREEMPT
        ),
        Case(
            "drf between jobs: nothing to preempt",
            partial(_cluster, nodes, waiting, one, claimant=_HOLDER, running=_SINGLES),
            _PREEMPT,
        ),
    ]


def _cluster(
    nodes: int,
    waiting: int,
    queues: list[Queue],
    *,
    claimant: str = _CLAIMANT,
    claimants: int = 0,
    running: Running = ELASTIC,
) -> Iterator[Stored]:
    """Full nodes; with `claimants`, every so many-th job that runs is the claimant's."""
    for queue in queues:
        yield "Queue", queue
    yield from full_nodes(nodes, running, lambda number: claimant if claimants and number % claimants == 0 else _HOLDER)
    large: ResourceList = {"cpu": "2", "memory": "2Gi"}
    for number in range(waiting):
        name = f"wait-{number:05d}"
        yield "PodGroup", group(name, 1, claimant, phase="Inqueue")
        yield "Pod", pod(name, 0, large)


def _deserving(holder: int) -> list[Queue]:
    """Two queues side by side; the claimant deserves so much that it could take whatever is given up."""
    return [_queue(_HOLDER, cpu=holder), _queue(_CLAIMANT, cpu=holder)]


def _departments(holder: int) -> list[Queue]:
    """The same, each below a department of its own."""
    above = [_queue(name, cpu=holder) for name in ("a", "b")]
    return [*above, _queue(_HOLDER, "a", cpu=holder), _queue(_CLAIMANT, "b", cpu=holder)]


def _queue(name: str, parent: str = "", *, cpu: int = 0, path: str = "") -> Queue:
    deserved: ResourceList = {"cpu": str(cpu), "memory": f"{cpu}Gi"} if cpu else {}
    annotations = {HIERARCHY: path, HIERARCHY_WEIGHTS: "/".join("1" for _ in path.split("/"))} if path else {}
    metadata = ObjectMeta(name=name, uid=name, annotations=annotations)
    return Queue(metadata=metadata, spec=QueueSpec(parent=parent, deserved=deserved))
