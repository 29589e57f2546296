"""Simulation: the same scheduler and controllers over objects in memory, with virtual time and no network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from volcano_py.api import names
from volcano_py.api.extender.client import ExtenderClient
from volcano_py.api.objects import Namespace, OwnerReference, Pod, PodGroup, Queue, metadata_of
from volcano_py.api.report import CycleReport
from volcano_py.api.shards.node_shards import NODE_SHARD, NodeShard
from volcano_py.api.wording.owned import all_called, as_argument
from volcano_py.api.wording.pod_message import why_pod_waits
from volcano_py.api.workloads import Workload
from volcano_py.cluster.manifests import EPOCH, VOLCANO_JOB, Stored
from volcano_py.cluster.memory import MemoryCluster, Saved
from volcano_py.cluster.memory_budgets import MemoryBudgets
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.framework.devices.stand_ins import Offered, offered_in
from volcano_py.framework.registry import Registry
from volcano_py.framework.resting.resting import Resting
from volcano_py.jobs.group import group_key
from volcano_py.jobs.model import BATCH_API, JOB_KIND, VolcanoJob
from volcano_py.jobs.refusal import Refusal
from volcano_py.jobs.status import standing_refusal
from volcano_py.operator.jobs.in_memory import JobsInMemory
from volcano_py.operator.podgroups.generated_group import (
    GroupRules,
    as_named,
    group_changes,
    inheriting_owner,
    plan_group,
    wants_group,
)
from volcano_py.operator.queues.states import (
    PodGroupCounts,
    UnknownQueueStateError,
    initial_queues,
    parent_state,
    reconcile_queue,
)
from volcano_py.scheduler import Scheduler
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.shards.handover import is_stated, next_claims, status_of, with_in_use
from volcano_py.state.shards.shards import read_node_shard
from volcano_py.state.snapshot import Snapshot
from volcano_py.state.table.units import canonical

CYCLE_SECONDS: Final = 1.0
"""Virtual time from one cycle to the next."""

MOST_CYCLES: Final = 10_000
"""Where a run that never settles is stopped (`settled` is then false)."""


class RefusedJob(msgspec.Struct, frozen=True):
    """A Volcano Job (`key`: namespace/name) whose pods or PodGroup cannot be created, and why."""

    key: str
    phase: str
    why: Refusal


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """What a run did, and the cluster at its end. Field names are those of the JSON output."""

    binds: Mapping[str, str]
    evictions: tuple[str, ...]
    pipelined: Mapping[str, str]
    pod_groups: Mapping[str, Mapping[str, Any]]
    queues: Mapping[str, Mapping[str, Any]]
    unschedulable: Mapping[str, str]
    groups: Mapping[str, str]
    """Pods that wait, and their PodGroups; not part of the JSON output."""
    called: Mapping[str, str]
    """What people call PodGroups, as in `Simulation.called`; not part of the JSON output."""
    refused_jobs: Mapping[str, RefusedJob]
    """PodGroup (namespace/name), whether or not it exists → its Volcano Job, of those that do not get the pods with
    which they start."""
    cycles: int
    settled: bool
    reports: tuple[CycleReport, ...] = field(repr=False, default=())

    def as_json(self) -> dict[str, Any]:
        """The output of `volcano-py simulate --output json`."""
        refused = self.refused_jobs.values()
        return {
            "binds": dict(self.binds),
            "evictions": list(self.evictions),
            "pipelined": dict(self.pipelined),
            "podGroups": dict(self.pod_groups),
            "queues": dict(self.queues),
            "unschedulable": dict(self.unschedulable),
            "refusedJobs": {job.key: {"phase": job.phase, **msgspec.to_builtins(job.why)} for job in refused},
        }


class Mark(msgspec.Struct, frozen=True):
    """One moment of a simulation. `reports`: how many there were."""

    cluster: Saved
    reports: int
    now: float
    resting: Resting


class Simulation:
    """A cluster in memory with our controllers and the scheduler; `step` is one second of its life."""

    def __init__(
        self,
        items: Iterable[Stored],
        configuration: SchedulerConfiguration,
        registry: Registry,
        *,
        rules: GroupRules | None = None,
        live: float | None = None,
        extender: ExtenderClient | None = None,
    ) -> None:
        """`live`: the objects are a live cluster's, as they were at this moment (seconds since the epoch). Time goes
        on from there, and pods that are being deleted are gone after the first cycle. `extender`: asked by the plugin
        of that name; None: it asks nothing."""
        self._rules = rules or GroupRules()
        self.configuration = configuration
        self.state = ClusterState(
            scheduler_names=self._rules.scheduler_names,
            default_queue=self._rules.default_queue,
            sharding=self._rules.sharding,
        )
        self.cluster = MemoryCluster(self.state)
        self.reports: list[CycleReport] = []
        self.now = EPOCH.timestamp() if live is None else live
        self._scheduler = Scheduler(registry, self.cluster.apply, extender=extender)
        self._used: Snapshot | None = None  # that of the last cycle
        self._only_tries = False
        self._at_rest: int | None = None
        """How many changes there had been when the controllers found nothing to do."""
        self._jobs = JobsInMemory(self.cluster, self._rules)
        self._budgets = MemoryBudgets(self.cluster)
        for kind, obj in items:
            self.cluster.put(kind, obj)
            self.now = max(self.now, metadata_of(obj).created)
            if live is not None and isinstance(obj, Pod) and obj.metadata.deletion_timestamp is not None:
                self.cluster.let_go(obj)
        for body in initial_queues(self._rules.default_queue):
            if self.cluster.get("Queue", body["metadata"]["name"], Queue) is None:
                self.cluster.put("Queue", msgspec.convert(body, type=Queue))

    def step(self, until: Callable[[], bool] = lambda: False) -> bool:
        """Controllers, then one cycle, then the kubelets. False when nothing at all changed. A step ends after the
        action with which `until` holds, and can then only be undone, by `back_to`."""
        before = self.cluster.changes
        self.now += CYCLE_SECONDS
        self._run_controllers()
        report = self._run_cycle(until=until)
        self.reports.append(report)
        if until():
            return True
        self.cluster.settle(self.now)
        if self._only_tries and (report.binds or report.evictions):
            # The phases that follow: in the next cycle they would be news, and all would be looked at once more.
            self._run_cycle(decide=False)
        self._run_controllers()
        # What is only waiting for time to pass has not settled.
        waits = max(self.reports[-1].look_again_at, self._jobs.look_again_at) > self.now
        return self.cluster.changes != before or waits

    def offered(self) -> Offered:
        """What nodes have, with devices that stand in for resources."""
        return offered_in(self.state.ledger, self._scheduler.stand_ins)

    def _run_cycle(self, *, decide: bool = True, until: Callable[[], bool] = lambda: False) -> CycleReport:
        snapshot = self.state.snapshot(self.now, self._used)
        report = self._scheduler.run_cycle(snapshot, self.configuration, decide=decide, until=until)
        self._used = snapshot
        return report

    def run(self, cycles: int | None = None) -> SimulationResult:
        """So many cycles, or (None) until one changes nothing."""
        settled = False
        for _ in range(MOST_CYCLES if cycles is None else cycles):
            settled = not self.step()
            if settled and cycles is None:
                break
        return self.result(settled=settled)

    @contextmanager
    def aside(self, configuration: SchedulerConfiguration | None = None) -> Iterator[None]:
        """What happens inside, under another configuration if one is given, is undone at the end. Plugins begin without
        memories, inside and afterwards."""
        mark, configured = self.mark(), self.configuration
        self.forget()
        self.configuration = configuration or configured
        try:
            yield
        finally:
            self.configuration = configured
            self.back_to(mark)

    def only_try(self) -> None:
        """From here on, things are only tried: conditions of which only the message would change are left alone, and
        what starts or goes has its phases at once."""
        self._only_tries = self._scheduler.ignores_text = True

    def mark(self) -> Mark:
        """How all stands, for `back_to`."""
        return Mark(self.cluster.saved(), len(self.reports), self.now, self._scheduler.resting())

    def back_to(self, mark: Mark) -> None:
        """What happened since is undone; plugins begin without memories."""
        self.cluster.restore(mark.cluster)
        del self.reports[mark.reports :]
        self.now = mark.now
        self._scheduler.go_on_from(mark.resting)

    def forget(self) -> None:
        """Plugins go on without memories. Which jobs rest stays known: it follows from the cluster."""
        self._scheduler.go_on_from(self._scheduler.resting())

    @property
    def look_again_at(self) -> float:
        """When the next step is due though nothing changes (seconds since the epoch); 0: never."""
        last = self.reports[-1] if self.reports else None
        moments = [self._jobs.look_again_at, *((last.look_again_at, last.recheck_at) if last is not None else ())]
        return min((moment for moment in moments if moment > self.now), default=0.0)

    # -- controllers -----------------------------------------------------------------------------------------------

    def _run_controllers(self) -> None:
        self._jobs.run(self.now)
        before = self.cluster.changes
        if before == self._at_rest:
            return  # only Jobs follow the clock
        self._hand_over_nodes()
        self.cluster.provide_volumes()
        self.cluster.settle_devices()
        self._budgets.run()
        for pod in self.cluster.changed_pods():
            if wants_group(pod, self._rules):
                self._group_for(pod)
        queues = {queue.metadata.name: queue for queue in self.cluster.objects("Queue", Queue)}
        phases: dict[str, list[str]] = {}
        for group in self.cluster.objects("PodGroup", PodGroup):
            phases.setdefault(group.spec.queue or self._rules.default_queue, []).append(group.status.phase)
        for name, queue in queues.items():
            try:
                change = reconcile_queue(queue, PodGroupCounts.of(phases.get(name, [])), parent_state(queue, queues))
            except UnknownQueueStateError:
                continue  # as the live controller does: such a queue is left alone
            self.cluster.put("Queue", change.apply(queue))
        if self.cluster.changes == before:
            self._at_rest = before

    def _hand_over_nodes(self) -> None:
        """Every shard takes what it can have. A pod is bound at once here, so none is on its way to a node."""
        shards = {shard.metadata.name: shard for shard in self.cluster.objects(NODE_SHARD, NodeShard)}
        infos = {name: read_node_shard(shard) for name, shard in shards.items()}
        for _ in range(2):  # first all let go, then all take
            for name, info in infos.items():
                others = [other for other in infos.values() if other.name != name]
                infos[name] = msgspec.structs.replace(info, in_use=next_claims(info, others))
        for name, shard in shards.items():
            if not is_stated(shard.status, status_of(infos[name].desired, infos[name].in_use)):
                self.cluster.put(NODE_SHARD, with_in_use(shard, infos[name].in_use))

    def _group_for(self, pod: Pod) -> None:
        owner = inheriting_owner(pod)
        workload = self.cluster.get(owner.kind, f"{pod.metadata.namespace}/{owner.name}", Workload) if owner else None
        plan = plan_group(pod, workload, self._namespace_annotations(pod.metadata.namespace), self._rules)
        key = plan.group.metadata.key
        existing = self.cluster.get("PodGroup", key, PodGroup)
        if existing is None:
            metadata = msgspec.structs.replace(
                plan.group.metadata,
                uid=f"podgroup-{key}",
                creation_timestamp=pod.metadata.creation_timestamp,
            )
            self.cluster.put("PodGroup", msgspec.structs.replace(plan.group, metadata=metadata))
        elif group_changes(existing, plan.group):
            spec = msgspec.structs.replace(
                existing.spec, min_member=plan.group.spec.min_member, min_resources=plan.group.spec.min_resources
            )
            self.cluster.put("PodGroup", msgspec.structs.replace(existing, spec=spec))
        self.cluster.put("Pod", as_named(pod, plan.group.metadata.name))

    def _namespace_annotations(self, name: str) -> Mapping[str, str]:
        found = self.cluster.get("Namespace", name, Namespace)
        return found.metadata.annotations if found is not None else {}

    # -- the outcome -----------------------------------------------------------------------------------------------

    def called(self) -> dict[str, str]:
        """PodGroup (namespace/name) → what people call it. Of Volcano Jobs without one, that which they would have."""
        return self._called(self._jobs_by_group())

    def _called(self, jobs: Mapping[str, VolcanoJob]) -> dict[str, str]:
        owners: dict[str, OwnerReference | None] = {
            key: OwnerReference(BATCH_API, JOB_KIND, job.metadata.name, job.metadata.uid, controller=True)
            for key, job in jobs.items()
        }
        for group in self.cluster.objects("PodGroup", PodGroup):
            owners[group.metadata.key] = group.metadata.controller
        return all_called(owners)

    def _jobs_by_group(self) -> dict[str, VolcanoJob]:
        """PodGroup (namespace/name) → its Volcano Job. Of a Job without one, that which it would have."""
        owned: dict[str, str] = {}
        for group in self.cluster.objects("PodGroup", PodGroup):
            if (owner := group.metadata.controller) is not None and owner.is_volcano_job:
                owned[owner.uid] = group.metadata.key
        return {
            owned.get(job.metadata.uid) or group_key(job): job for job in self.cluster.objects(VOLCANO_JOB, VolcanoJob)
        }

    def _refused_jobs(self, jobs: Mapping[str, VolcanoJob], pods: Sequence[Pod]) -> dict[str, RefusedJob]:
        there = Counter(owner.uid for pod in pods if (owner := pod.metadata.controller) is not None)
        return {
            key: RefusedJob(job.metadata.key, job.status.phase.value, why)
            for key, job in jobs.items()
            if there[job.metadata.uid] < max(job.spec.min_available, 1) and (why := standing_refusal(job)) is not None
        }

    def result(self, *, settled: bool) -> SimulationResult:
        """What has been done so far, and how the cluster stands."""
        last = self.reports[-1] if self.reports else None
        pods, groups = self.cluster.objects("Pod", Pod), self.cluster.objects("PodGroup", PodGroup)
        jobs = self._jobs_by_group()
        waiting = [
            pod
            for pod in pods
            if pod.spec.scheduler_name in self._rules.scheduler_names
            and pod.status.phase == "Pending"
            and not pod.spec.node_name
        ]
        return SimulationResult(
            binds=dict(self.cluster.binds),
            evictions=tuple(self.cluster.evictions),
            pipelined=dict(last.pipelined_tasks) if last else {},
            pod_groups={
                group.metadata.key: {
                    "phase": group.status.phase or "Pending",
                    "conditions": msgspec.to_builtins(group.status.conditions),
                    **({"owner": owner} if (owner := as_argument(group.metadata.controller)) else {}),
                }
                for group in groups
            },
            queues={name: _queue(report) for name, report in (last.queues if last else {}).items()},
            unschedulable={pod.metadata.key: why_pod_waits(pod) for pod in waiting},
            groups={pod.metadata.key: _group_of(pod) for pod in waiting},
            called=self._called(jobs),
            refused_jobs=self._refused_jobs(jobs, pods),
            cycles=len(self.reports),
            settled=settled,
            reports=tuple(self.reports),
        )


def _group_of(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.annotations.get(names.GROUP_NAME, '')}"


def _queue(report: Any) -> dict[str, Any]:
    def quantities(amounts: Mapping[str, int]) -> dict[str, str]:
        return {name: canonical(name, units) for name, units in amounts.items()}

    return {
        "allocated": quantities(report.allocated),
        "deserved": quantities(report.deserved),
        "share": report.share,
    }
