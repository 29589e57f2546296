"""How much a cycle of preemption costs: `python benchmarks/preempt.py`.

1,000 nodes are full with 10,000 running pods; 500 pods of two CPUs each wait. Once they are more important than what
runs, so that each gets the place of two pods; once they are not, which is what a busy cluster is in most of the time.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

from volcano_py.api import names
from volcano_py.api.effects import Effect, Evict
from volcano_py.api.objects import (
    Container,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    PodSpec,
    PodStatus,
    PriorityClass,
    ResourceList,
    ResourceRequirements,
)
from volcano_py.api.objects import Queue as QueueObject
from volcano_py.cluster.manifests import EPOCH, Stored
from volcano_py.config import parse_configuration
from volcano_py.scheduler import Scheduler, builtin_registry
from volcano_py.state.cluster_state import ClusterState

NODES: Final = 1_000
RUNNING: Final = 10_000
WAITING: Final = 500
GANG: Final = 10
"""Running pods come in gangs of so many, with a minimum of all."""

CONFIGURATION: Final = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: drf, enablePreemptable: false}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""


def cluster(waiting_class: str) -> Iterator[Stored]:
    """Nodes that are full, and pods that wait."""
    yield "Queue", QueueObject(metadata=ObjectMeta(name="default", uid="default"))
    yield "PriorityClass", PriorityClass(metadata=ObjectMeta(name="urgent", uid="urgent"), value=1000)
    allocatable: ResourceList = {"cpu": "10", "memory": "64Gi", "pods": "110"}
    for number in range(NODES):
        name = f"node-{number:04d}"
        yield "Node", Node(metadata=ObjectMeta(name=name, uid=name), status=NodeStatus(allocatable=allocatable))
    for number in range(RUNNING // GANG):
        yield "PodGroup", _group(f"run-{number:04d}", GANG, "", "Running")
        for member in range(GANG):
            yield "Pod", _pod(f"run-{number:04d}", member, "1", 0, f"node-{(number * GANG + member) % NODES:04d}")
    for number in range(WAITING):
        yield "PodGroup", _group(f"wait-{number:04d}", 1, waiting_class, "Inqueue")
        yield "Pod", _pod(f"wait-{number:04d}", 0, "2", 1000 if waiting_class else 0, "")


def _group(name: str, minimum: int, priority_class: str, phase: str) -> PodGroup:
    return PodGroup(
        metadata=ObjectMeta(name=name, namespace="bench", uid=name, creation_timestamp=EPOCH),
        spec=PodGroupSpec(min_member=minimum, queue="default", priority_class_name=priority_class),
        status=PodGroupStatus(phase=phase),
    )


def _pod(group: str, member: int, cpu: str, priority: int, node: str) -> Pod:
    name = f"{group}-{member}"
    annotations = {names.GROUP_NAME: group}
    requests: ResourceList = {"cpu": cpu, "memory": f"{cpu}Gi"}
    return Pod(
        metadata=ObjectMeta(name=name, namespace="bench", uid=name, annotations=annotations, creation_timestamp=EPOCH),
        spec=PodSpec(
            scheduler_name=names.DEFAULT_SCHEDULER_NAME,
            containers=[Container(name="main", resources=ResourceRequirements(requests=requests))],
            node_name=node,
            priority=priority,
        ),
        status=PodStatus(phase="Running" if node else "Pending"),
    )


def decide(state: ClusterState) -> tuple[float, float, int]:
    """Seconds of the clock and of the processor for one cycle, and how many pods it evicts."""
    evicted = 0

    def emit(effects: Sequence[Effect]) -> None:
        nonlocal evicted
        evicted += sum(isinstance(effect, Evict) for effect in effects)

    registry = builtin_registry()
    parsed = parse_configuration(CONFIGURATION, registry.catalogue())
    assert parsed.config is not None, parsed.problems
    scheduler, snapshot = Scheduler(registry, emit, seed=1), state.snapshot(time.time())
    gc.collect()
    clock, processor = time.perf_counter(), time.process_time()
    scheduler.run_cycle(snapshot, parsed.config)
    return time.perf_counter() - clock, time.process_time() - processor, evicted


def main() -> None:
    for what, waiting_class, expected in (("more important", "urgent", 2 * WAITING), ("not more important", "", 0)):
        state = ClusterState()
        for kind, obj in cluster(waiting_class):
            state.upsert(kind, obj)
        clock, processor, evicted = min(decide(state) for _ in range(3))
        assert evicted == expected, evicted
        sys.stdout.write(f"{what:20s} {evicted:5d} evictions  {clock:6.2f} s  {processor:6.2f} s of processor\n")


if __name__ == "__main__":
    main()
