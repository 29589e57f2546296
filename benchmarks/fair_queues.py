"""How much the order of 1,000 queues in a tree of 4 levels costs: `python benchmarks/fair_queues.py`.

20,000 pods of 1,000 queues are decided in memory, with queues in a tree (drf with enableHierarchy), with queues side by
side (proportion), and with drf alone, whose order between queues is that of their age. There is more room than work, so
that every pod is placed; every pod is a turn of its own.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

from volcano_py.api import names
from volcano_py.api.effects import Effect
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
    QueueSpec,
    ResourceList,
    ResourceRequirements,
)
from volcano_py.cluster.manifests import EPOCH, Stored
from volcano_py.config import SchedulerConfiguration, parse_configuration
from volcano_py.scheduler import Scheduler, builtin_registry
from volcano_py.state.cluster_state import ClusterState

QUEUES_A_SIDE: Final = 10
"""Queues are /a/b/c/d, with so many names at the first three levels and one at the last: 1,000 of them."""
PODS: Final = 20_000
NODES: Final = 1_000

TREE: Final = "{name: drf, enableHierarchy: true}"
FLAT: Final = "{name: drf}, {name: proportion}"
NEITHER: Final = "{name: drf}"


def configuration(plugins: str) -> SchedulerConfiguration:
    text = (
        'actions: "enqueue, allocate"\n'
        f"tiers:\n- plugins: [{{name: priority}}, {{name: gang}}]\n- plugins: [{plugins}, {{name: predicates}}]\n"
    )
    parsed = parse_configuration(text, builtin_registry().catalogue())
    assert parsed.config is not None, parsed.problems
    return parsed.config


def cluster(gang: int) -> Iterator[Stored]:
    """The queues, and `PODS` pods in jobs of `gang` pods with a minimum of 1."""
    for number in range(NODES):
        name = f"node-{number:04d}"
        allocatable: ResourceList = {"cpu": "32", "memory": "64Gi", "pods": "110"}
        yield "Node", Node(metadata=ObjectMeta(name=name, uid=name), status=NodeStatus(allocatable=allocatable))
    queues = [f"{a}/{b}/{c}/{a}{b}{c}" for a in range(10) for b in range(10) for c in range(QUEUES_A_SIDE)]
    for number, path in enumerate(queues):
        annotations = {names.HIERARCHY: f"root/{path}", names.HIERARCHY_WEIGHTS: f"1/1/2/{1 + number % 3}/1"}
        metadata = ObjectMeta(name=f"q{number:04d}", uid=f"q{number}", annotations=annotations)
        yield "Queue", Queue(metadata=metadata, spec=QueueSpec(weight=1 + number % 3))
    for number in range(PODS // gang):
        name = f"job-{number:05d}"
        metadata = ObjectMeta(name=name, namespace="bench", uid=name, creation_timestamp=EPOCH)
        queue = f"q{number % len(queues):04d}"
        yield "PodGroup", PodGroup(metadata=metadata, spec=PodGroupSpec(min_member=1, queue=queue))
        for member in range(gang):
            pod = ObjectMeta(
                name=f"{name}-{member}",
                namespace="bench",
                uid=f"{name}-{member}",
                annotations={names.GROUP_NAME: name},
                creation_timestamp=EPOCH,
            )
            container = Container(name="main", resources=ResourceRequirements(requests={"cpu": "1", "memory": "1Gi"}))
            yield (
                "Pod",
                Pod(metadata=pod, spec=PodSpec(scheduler_name=names.DEFAULT_SCHEDULER_NAME, containers=[container])),
            )


def decide(state: ClusterState, plugins: str) -> tuple[float, int]:
    """Seconds of processor time of one cycle, which neighbours on the machine falsify least, and the pods it placed."""
    placed = 0

    def emit(effects: Sequence[Effect]) -> None:
        nonlocal placed
        placed += sum(type(effect).__name__ == "Bind" for effect in effects)

    scheduler, config, snapshot = (
        Scheduler(builtin_registry(), emit),
        configuration(plugins),
        state.snapshot(time.time()),
    )
    gc.collect()
    started = time.process_time()
    scheduler.run_cycle(snapshot, config)
    return time.process_time() - started, placed


def main() -> None:
    for gang in (1, 20):
        state = ClusterState()
        for kind, obj in cluster(gang):
            state.upsert(kind, obj)
        seconds = {plugins: min(decide(state, plugins) for _ in range(3)) for plugins in (TREE, FLAT, NEITHER)}
        flat = seconds[FLAT][0]
        for plugins, (taken, placed) in seconds.items():
            assert placed == PODS, placed
            sys.stdout.write(
                f"jobs of {gang:2d} pods  {plugins:36s} {taken:6.2f} s  {taken / flat:5.2f} of proportion's\n"
            )


if __name__ == "__main__":
    main()
