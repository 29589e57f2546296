"""What a tree of queues costs in the capacity plugin: `python -m benchmarks.capacity_tree`.

20,000 pods of 1,000 leaf queues, in a tree of 4 levels by `spec.parent`, are decided in memory; beside it the same by
capacity without the tree, and by proportion. There is more room than work, so that every pod is placed, and with jobs
of one pod every pod is a turn of its own. Seconds are those of the processor, the least of several runs taken in turn:
on a machine that others use, only the ratios mean something.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from benchmarks.fair_queues import PODS, cluster, configuration
from volcano_py.api.effects import Bind, Effect
from volcano_py.api.names import HIERARCHY
from volcano_py.api.objects import ObjectMeta, Queue, QueueSpec
from volcano_py.cluster.manifests import Stored
from volcano_py.scheduler import Scheduler, builtin_registry
from volcano_py.state.cluster_state import ClusterState

RUNS: Final = 5
TREE: Final = "{name: drf}, {name: capacity, enableHierarchy: true}"
FLAT: Final = "{name: drf}, {name: capacity}"
PROPORTION: Final = "{name: drf}, {name: proportion}"


def with_parents(gang: int) -> Iterator[Stored]:
    """The cluster with its queues below inner ones: /a/b/c/leaf."""
    made: set[str] = set()
    for kind, obj in cluster(gang):
        if not isinstance(obj, Queue):
            yield kind, obj
            continue
        parent = ""
        path = obj.metadata.annotations[HIERARCHY].split("/")[1:-1]
        for depth in range(len(path)):
            name = "-".join(("inner", *path[: depth + 1]))
            if name not in made:
                made.add(name)
                deserved: dict[str, str | int | float] = {"cpu": str(PODS // 10 ** (depth + 1))}
                yield kind, Queue(ObjectMeta(name=name, uid=name), QueueSpec(parent=parent, deserved=deserved))
            parent = name
        deserved = {"cpu": "20", "memory": "20Gi"}
        yield kind, msgspec.structs.replace(obj, spec=QueueSpec(parent=parent, deserved=deserved))


def seconds(state: ClusterState, plugins: str) -> tuple[float, float]:
    """Of one cycle, and of that the opening of the session."""
    placed = 0

    def emit(effects: Sequence[Effect]) -> None:
        nonlocal placed
        placed += sum(isinstance(effect, Bind) for effect in effects)

    scheduler, config = Scheduler(builtin_registry(), emit), configuration(plugins)
    snapshot = state.snapshot(time.time())
    gc.collect()
    started = time.process_time()
    report = scheduler.run_cycle(snapshot, config)
    taken = time.process_time() - started
    assert placed == PODS, placed
    return taken, report.plugins_open[plugins.split("name: ")[-1].split(",")[0].strip("}")]


def main() -> None:
    for gang in (1, 20):
        state = ClusterState()
        for kind, obj in with_parents(gang):
            state.upsert(kind, obj)
        best = {plugins: (float("inf"), 0.0) for plugins in (TREE, FLAT, PROPORTION)}
        for _ in range(RUNS):
            for plugins in best:
                best[plugins] = min(best[plugins], seconds(state, plugins))
        for plugins, (taken, opening) in best.items():
            ratio = taken / best[PROPORTION][0]
            sys.stdout.write(
                f"jobs of {gang:2d} pods  {plugins:52s} {taken:6.2f} s  {ratio:5.2f} of proportion's"
                f"  (opening {1000 * opening:4.0f} ms)\n"
            )


if __name__ == "__main__":
    main()
