"""The loads: what a scheduler is given, and what is measured of it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from volcano_py.bench.cluster import BenchCluster
from volcano_py.bench.contenders import Contender
from volcano_py.bench.figures import Run, cpu_seconds, peak_rss, percentiles
from volcano_py.bench.loads.mixed_load import MixedWorkload
from volcano_py.bench.loads.workload import Workload
from volcano_py.local.processes.processes import ManagedProcess

_PATIENCE: Final = 300.0  # seconds until an unfinished load is given up
_QUIET: Final = 30.0  # seconds without a binding after which those pods are given up that may fit nowhere
_STOP: Final = 20.0  # seconds
# Seconds until thousands of new stuck pods have their conditions and rate-limited events.
_SETTLE: Final = 60.0
_WARM: Final = 5.0  # seconds from a scheduler's first binding until a steady load or a rest is measured


@dataclass(frozen=True, slots=True)
class _Start:
    """When something began, in seconds since the epoch, and what the server had used by then."""

    moment: float
    server_cpu: float


class Loads:
    """Runs loads against one cluster; each gets a namespace of its own."""

    def __init__(self, cluster: BenchCluster, workload: Workload) -> None:
        self._cluster, self._workload = cluster, workload
        self._runs = 0

    def _namespace(self) -> str:
        self._runs += 1
        return f"bench-{self._runs}"

    def _process(self, contender: Contender) -> ManagedProcess:
        """Not started yet, and ready to be."""
        contender.warm_up()
        return contender.process(self._cluster.plane.work_dir)

    async def ceiling(self) -> float:
        """Pods per second of bare POST …/binding."""
        namespace = self._namespace()
        await self._cluster.create_pods(namespace, self._workload, "unknown")
        seconds = await self._cluster.bind_all(namespace, self._workload)
        await self._cluster.clear(namespace)
        return self._workload.pods / seconds

    async def backlog(self, contender: Contender, *, groups: bool = True) -> Run:
        """All pods first, then the scheduler: throughput from its start to the last binding."""
        namespace, workload = self._namespace(), self._workload
        process = self._process(contender)
        await self._cluster.create_pods(namespace, workload, contender.scheduler_name, groups=groups)
        return await self._all_at_once(contender, namespace, process)

    async def mixed(self, contender: Contender, workload: MixedWorkload) -> Run:
        """The same with pods of many types. Some may fit nowhere: it ends when nothing has been bound for a while."""
        namespace = self._namespace()
        process = self._process(contender)
        await self._cluster.create_mixed_pods(namespace, workload, contender.scheduler_name)
        return await self._all_at_once(contender, namespace, process, quiet=_QUIET)

    async def _all_at_once(
        self, contender: Contender, namespace: str, process: ManagedProcess, *, quiet: float | None = None
    ) -> Run:
        """The pods are there: from the start of the scheduler to its last binding."""
        pods = self._workload.pods
        start = self._start()
        await process.start()
        try:
            await self._cluster.wait_bound(namespace, pods, _PATIENCE, running=lambda: process.running, quiet=quiet)
            run = self._measured(contender, namespace, process, start)
        finally:
            await process.stop(_STOP)
        await self._cluster.clear(namespace)
        return run

    async def arrival(self, contender: Contender, rate: float, *, bound: int) -> Run:
        """Gangs come at a steady rate of pods per second below the ceiling: latency. `bound` pods run before."""
        namespace, crowd, workload = self._namespace(), self._namespace(), self._workload
        await self._cluster.create_pods(crowd, replace(workload, pods=bound), contender.scheduler_name, on_nodes=True)
        await self._cluster.create_namespace(namespace)
        process = self._process(contender)
        await process.start()
        try:
            await self._ready(contender, process)
            start = self._start()
            gangs = workload.pods // workload.gang
            for index in range(gangs):
                due = start.moment + index * workload.gang / rate
                await asyncio.sleep(max(0.0, due - time.time()))
                await self._cluster.create_gang(namespace, index, workload, contender.scheduler_name)
            await self._cluster.wait_bound(namespace, gangs * workload.gang, _PATIENCE, running=lambda: process.running)
            run = self._measured(contender, namespace, process, start)
        finally:
            await process.stop(_STOP)
        for each in (namespace, crowd):
            await self._cluster.clear(each)
        return run

    async def restart(self, contender: Contender, *, bound: int, pending: int) -> Run:
        """A cluster full of bound pods and some pending: time from the process's start to its bindings."""
        namespace, crowd = self._namespace(), self._namespace()
        resident = replace(self._workload, pods=bound)
        waiting = replace(self._workload, pods=pending)
        process = self._process(contender)
        await self._cluster.create_pods(crowd, resident, contender.scheduler_name, on_nodes=True)
        await self._cluster.create_pods(namespace, waiting, contender.scheduler_name)
        start = self._start()
        await process.start()
        try:
            await self._cluster.wait_bound(namespace, pending, _PATIENCE, running=lambda: process.running)
            run = self._measured(contender, namespace, process, start)
            timeline = self._cluster.audit.timeline(namespace)
        finally:
            await process.stop(_STOP)
        for each in (namespace, crowd):
            await self._cluster.clear(each)
        notes = {
            **run.notes,
            "first_binding_seconds": timeline.first_bound - start.moment,
            "last_binding_seconds": timeline.last_bound - start.moment,
        }
        return replace(run, notes=notes)

    async def rest(self, contender: Contender, *, bound: int, stuck: int, gangs: int, seconds: float) -> Run:
        """Nothing happens: CPU of a core in percent, without and with pods that fit nowhere, and a gang's latency."""
        namespace, crowd, misfits = self._namespace(), self._namespace(), self._namespace()
        resident = replace(self._workload, pods=bound)
        await self._cluster.create_pods(crowd, resident, contender.scheduler_name, on_nodes=True)
        await self._cluster.create_namespace(namespace)
        process = self._process(contender)
        await process.start()
        try:
            await self._ready(contender, process)
            idle = await self._idle_share(process, seconds)
            small = replace(self._workload, gang=20, pods=20 * gangs)
            quiet = await self._gang_latencies(contender, namespace, small, range(gangs // 2))
            too_large = replace(self._workload, pods=stuck, pod_request=("1000", "1Gi"))
            await self._cluster.create_pods(misfits, too_large, contender.scheduler_name)
            await asyncio.sleep(_SETTLE)
            with_stuck = await self._idle_share(process, seconds)
            busy = await self._gang_latencies(contender, namespace, small, range(gangs // 2, gangs))
            run = self._measured(contender, namespace, process)
        finally:
            await process.stop(_STOP)
        for each in (namespace, crowd, misfits):
            await self._cluster.clear(each)
        notes = {
            **run.notes,
            "idle_cpu_percent": 100 * idle,
            "idle_cpu_percent_with_stuck_pods": 100 * with_stuck,
            "gang_p50_seconds": float(np.percentile(quiet, 50)),
            "gang_p50_seconds_with_stuck_pods": float(np.percentile(busy, 50)),
        }
        return replace(run, notes=notes)

    async def _ready(self, contender: Contender, process: ManagedProcess) -> None:
        """Return a moment after the scheduler has bound a first pod: until then it lists what there is."""
        namespace = self._namespace()
        await self._cluster.create_pods(namespace, replace(self._workload, pods=1, gang=1), contender.scheduler_name)
        await self._cluster.wait_bound(namespace, 1, _PATIENCE, running=lambda: process.running)
        await self._cluster.clear(namespace)
        await asyncio.sleep(_WARM)

    async def _idle_share(self, process: ManagedProcess, seconds: float) -> float:
        assert process.pid is not None
        before = cpu_seconds(process.pid)
        await asyncio.sleep(seconds)
        return (cpu_seconds(process.pid) - before) / seconds

    async def _gang_latencies(
        self, contender: Contender, namespace: str, workload: Workload, indexes: range
    ) -> list[float]:
        """From the creation of a gang's first pod to the binding of its last."""
        latencies = []
        for index in indexes:
            before = self._cluster.audit.bound(namespace)
            await self._cluster.create_gang(namespace, index, workload, contender.scheduler_name)
            await self._cluster.wait_bound(namespace, before + workload.gang, 60)
            timeline = self._cluster.audit.timeline(namespace)
            prefix = f"{namespace}/gang-{index:06d}-"
            created = [moment for key, moment in timeline.created.items() if key.startswith(prefix)]
            bound = [moment for key, moment in timeline.bound.items() if key.startswith(prefix)]
            latencies.append(max(bound, default=float("nan")) - min(created))
            await asyncio.sleep(1.0)
        return latencies

    def _start(self) -> _Start:
        return _Start(time.time(), self._cluster.server_cpu_seconds())

    def _measured(
        self, contender: Contender, namespace: str, process: ManagedProcess, start: _Start | None = None
    ) -> Run:
        """What was measured until now. Without a `start` it has no throughput, nor what that costs the server."""
        timeline = self._cluster.audit.timeline(namespace)
        p50, p99 = percentiles(timeline.latencies())
        pid, bound = process.pid, len(timeline.bound)
        seconds, notes = 0.0, {}
        if start is not None:
            seconds = max(timeline.last_bound - start.moment, 1e-9)
            notes["server_cpu_seconds"] = self._cluster.server_cpu_seconds() - start.server_cpu
        if throttled := self._cluster.audit.throttled(namespace):
            notes["bindings_throttled"] = throttled
        return Run(
            scheduler=contender.name,
            pods=bound,
            seconds=seconds,
            pods_per_second=bound / seconds if seconds else 0.0,
            p50_seconds=p50,
            p99_seconds=p99,
            cpu_seconds=cpu_seconds(pid) if pid is not None else 0.0,
            peak_rss_bytes=peak_rss(pid) if pid is not None else 0,
            notes=notes,
            failure="" if bound else str(process.failure("bound no pods")),
        )
