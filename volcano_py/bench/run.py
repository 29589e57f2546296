"""Runs the benchmark that the command line asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from volcano_py.bench.cluster import BenchCluster, bench_cluster
from volcano_py.bench.contenders import KUBE_SCHEDULER, Contender, kube_scheduler, ours
from volcano_py.bench.figures import Run
from volcano_py.bench.loads.loads import Loads
from volcano_py.bench.loads.mixed_load import MIXED, MixedWorkload
from volcano_py.bench.loads.workload import Workload
from volcano_py.bench.logins import as_kube_scheduler
from volcano_py.bench.peers import Peers
from volcano_py.local.binaries.binaries import ensure_binaries
from volcano_py.local.install import daemon_environment

LOADS: Final = ("backlog", MIXED, "arrival", "bare", "restart", "rest")

# What the loads other than backlog and arrival are made of.
_PENDING = 1_000  # pods that wait when the process starts
_STUCK = 3_000  # pods that fit nowhere
_GANGS = 10  # gangs of 20 whose latency is measured at rest
_REST_SECONDS = 30.0

SIZES: Final = {
    "restart": f"{_PENDING} pending pods",
    "rest": f"{_GANGS} gangs of 20, {_STUCK} stuck pods for the second half",
}
"""What the loads with a size of their own are made of, apart from the pods that are bound before."""
BOUND: Final = {"arrival": 0, "restart": 10_000, "rest": 10_000}
"""Pods that are bound before the scheduler starts, unless another number is asked for, of the loads that have such."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All runs against one API server, round by round; `ceilings` are what bare bindings reached around them, in pods
    per second. `paced` is a load that comes at its own pace, so that throughput is not up to the scheduler."""

    ceilings: tuple[float, ...]
    runs: tuple[Run, ...]
    paced: bool = False

    @property
    def ceiling(self) -> float | None:
        return sum(self.ceilings) / len(self.ceilings) if self.ceilings else None

    def times_as_fast(self) -> dict[str, list[float]]:
        """Scheduler → for each round, its pods per second by those of kube-scheduler. Empty where that did not take
        part, and where throughput says nothing."""
        rates: dict[str, list[float]] = {}
        for run in self.runs:
            rates.setdefault(run.scheduler, []).append(run.pods_per_second)
        base = rates.pop(KUBE_SCHEDULER, [0.0])
        if self.paced or 0 in base:
            return {}
        return {name: [mine / its for mine, its in zip(each, base, strict=True)] for name, each in rates.items()}

    def as_json(self) -> dict[str, Any]:
        return {
            "ceiling_pods_per_second": self.ceiling,
            "runs": [run.as_json() for run in self.runs],
            "times_as_fast_as_kube_scheduler": self.times_as_fast(),
        }


async def compare(
    workload: Workload,
    load: str,
    *,
    rate: float,
    bound: int | None = None,
    peers: Peers,
    with_kube_scheduler: bool,
    rounds: int = 1,
    report: Callable[[str], None] = lambda line: None,  # noqa: ARG005 - the type's signature
) -> Comparison:
    """One load for every contender in turn, on one API server, repeated `rounds` times.

    `bound` is how many pods are bound before; None: the load's own number. `report` gets a line for each load that is
    through: all of them may take half an hour.
    """
    async with bench_cluster() as cluster:
        if load == MIXED:
            await cluster.create_mixed_nodes(MixedWorkload.of(workload))
        else:
            await cluster.create_nodes(workload)
        loads = Loads(cluster, workload)
        bounded = load in ("backlog", MIXED, "arrival", "bare")
        # Before, between and after: what the API server takes drifts with the machine.
        ceilings = [await loads.ceiling()] if bounded else []
        runs = []
        contenders = await _contenders(cluster, peers, with_kube_scheduler)
        for number, contender in enumerate(rounds * contenders):
            run = await run_load(loads, load, contender, workload, rate=rate, bound=bound)
            runs.append(run)
            report(f"round {number // len(contenders) + 1} of {rounds}: {run}")
            if bounded:
                ceilings.append(await loads.ceiling())
        return Comparison(tuple(ceilings), tuple(runs), paced=load == "arrival")


async def _contenders(cluster: BenchCluster, peers: Peers, with_kube_scheduler: bool) -> list[Contender]:
    plane = cluster.plane
    contenders = [ours(await daemon_environment(plane))]
    if with_kube_scheduler:
        binary = ensure_binaries(("kube-scheduler",))["kube-scheduler"]
        contenders.insert(0, kube_scheduler(as_kube_scheduler(plane), binary, plane.work_dir))
    return contenders + await peers.contenders(plane, cluster.client, cluster.kubeconfig)


async def run_load(
    loads: Loads, load: str, contender: Contender, workload: Workload, *, rate: float, bound: int | None
) -> Run:
    """One load for one contender; see `compare`."""
    before = BOUND.get(load, 0) if bound is None else bound
    if load == MIXED:
        return await loads.mixed(contender, MixedWorkload.of(workload))
    if load == "arrival":
        return await loads.arrival(contender, rate, bound=before)
    if load == "restart":
        return await loads.restart(contender, bound=before, pending=_PENDING)
    if load == "rest":
        return await loads.rest(contender, bound=before, stuck=_STUCK, gangs=_GANGS, seconds=_REST_SECONDS)
    return await loads.backlog(contender, groups=load != "bare")
