"""The cycle alone, in memory: how fast the scheduler decides when nothing else takes time."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterable, Sequence

from volcano_py.api.effects import Bind, Effect, Evict
from volcano_py.api.shards.sharding import Sharding
from volcano_py.bench.figures import Run, percentiles
from volcano_py.cluster.manifests import Stored
from volcano_py.config import SchedulerConfiguration
from volcano_py.framework.registry import Registry
from volcano_py.scheduler import Scheduler
from volcano_py.state.cluster_state import ClusterState


def run_decide(
    items: Iterable[Stored],
    configuration: SchedulerConfiguration,
    registry: Registry,
    *,
    name: str = "volcano-py",
    sharding: Sharding | None = None,
) -> Run:
    """Load the objects, take a snapshot and decide in cycles until nothing more is bound.

    Latency of a pod is the time from the first snapshot to the moment its binding is handed over.
    """
    state = ClusterState(sharding=sharding)
    for kind, obj in items:
        state.upsert(kind, obj)
    bound: list[float] = []
    binds: list[Bind] = []
    evicted = 0

    def emit(effects: Sequence[Effect]) -> None:
        nonlocal evicted
        now = time.perf_counter()
        for effect in effects:
            if isinstance(effect, Bind):
                bound.append(now)
                binds.append(effect)
            evicted += isinstance(effect, Evict)

    scheduler, snapshot = Scheduler(registry, emit, seed=1), None
    started, cpu = time.perf_counter(), time.process_time()
    while True:
        before = len(bound)
        snapshot = state.snapshot(time.time(), snapshot)
        report = scheduler.run_cycle(snapshot, configuration)
        state.assume_all_bound(binds[before:])
        if len(bound) == before or not report.pending:
            break
    seconds = time.perf_counter() - started
    p50, p99 = percentiles([moment - started for moment in bound])
    return Run(
        scheduler=name,
        pods=len(bound),
        seconds=seconds,
        pods_per_second=len(bound) / seconds,
        p50_seconds=p50,
        p99_seconds=p99,
        cpu_seconds=time.process_time() - cpu,
        peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        notes={"evictions": evicted} if evicted else {},
    )
