"""The workload that is asked about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec
import numpy as np

from volcano_py.api.objects import ObjectMeta, OwnerReference, Pod, PodGroup
from volcano_py.api.workloads import Workload, deployment_of
from volcano_py.cluster.manifests import VOLCANO_JOB
from volcano_py.cluster.memory_pods import group_of
from volcano_py.explain.world import World
from volcano_py.jobs.group import group_key
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.refusal import Refusal, refusal_of
from volcano_py.operator.podgroups.generated_group import INHERITING_OWNERS, is_live
from volcano_py.state.status import TaskStatus
from volcano_py.state.task_class import TaskClass

OWNERS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "job": ("batch", "Job"),
        "deployment": ("apps", "Deployment"),
        "statefulset": ("apps", "StatefulSet"),
        "replicaset": ("apps", "ReplicaSet"),
        "daemonset": ("apps", "DaemonSet"),
        "job.batch": ("batch", "Job"),
    }
)
"""Kubernetes' own workloads → API group and kind of them as owners of pods. Of `job`, Volcano's come first."""
EXPLAINABLE: Final = ("podgroup", *OWNERS, "cronjob", "cronjob.batch", "pod", "queue", "node")
"""All that can be explained."""
Owner = tuple[str, str, str]
"""API group, kind and name."""


class ExplainError(ValueError):
    """There is no such object; the text says what to do."""


class Target(msgspec.Struct, frozen=True):
    """A PodGroup and its pods, as the settled copy has them.

    Attributes:
        kind, name: what was asked for; `name` is namespace/name.
        group: namespace/name of the PodGroup; there may be none of that name.
        pods: all pods of the group, or the one without a group.
        need: how many pods must have a node for the workload to count as started: the minimum, or all if that runs.
        others: namespace/name of the other PodGroups of a workload that has several.
    """

    kind: str
    name: str
    group: str
    pods: tuple[Pod, ...]
    need: int
    found: PodGroup | None
    others: tuple[str, ...] = ()

    @property
    def waiting(self) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods if not pod.spec.node_name and pod.status.phase == "Pending")


def find(world: World, kind: str, name: str) -> Target:
    """The workload `kind` (one of `EXPLAINABLE`, but no CronJob, queue or node) `name` (namespace/name). Of one with
    several PodGroups, the first that waits.

    Raises:
        ExplainError: the cluster has none of that name, or it is not this scheduler's.
    """
    targets = [_target(world, kind, name, group) for group in _groups(world, kind, name)]
    first = next((each for each in targets if each.waiting), targets[0])
    _check_shard(world, kind, name, first.found)
    return msgspec.structs.replace(first, others=tuple(each.group for each in targets if each is not first))


def _target(world: World, kind: str, name: str, group: str) -> Target:
    found = world.group(group)
    pods = tuple(world.pods_of(group)) if group else ()
    if not group:
        pod = world.simulation.cluster.get("Pod", name, Pod)
        pods = (pod,) if pod is not None else ()
    job = _job_of_group(world, group) if found is None else None
    written = found.spec.min_member if found is not None else job.spec.min_available if job is not None else 1
    minimum = max(written, 1)
    placed = sum(bool(pod.spec.node_name) for pod in pods)
    return Target(kind, name, group, pods, minimum if placed < minimum else max(len(pods), minimum), found)


def has_started(world: World, target: Target, *, need: int | None = None) -> bool:
    """Whether the workload has started by now: `need` pods of it have a node, as many as it needs if None."""
    if target.group:
        return world.placed(target.group) >= (target.need if need is None else need)
    found = (world.simulation.cluster.get("Pod", pod.metadata.key, Pod) for pod in target.pods)
    return any(pod is not None and pod.spec.node_name for pod in found)


def first_waiting(world: World, target: Target) -> tuple[Pod, TaskClass] | None:
    """The first pod that waits, and its class; None when the scheduler knows none."""
    ssn, waiting = world.session, {pod.metadata.key: pod for pod in target.waiting}
    tasks, job = ssn.ledger.tasks, world.jobs.get(target.group)
    rows = np.flatnonzero(tasks.status == TaskStatus.PENDING) if job is None else ssn.tasks_of(job)
    for row in rows[tasks.status[rows] == TaskStatus.PENDING].tolist():
        pod = waiting.get(ssn.task_info(row).key)
        if pod is not None:
            return pod, ssn.task_class(row)
    return None


def job_of(world: World, target: Target) -> VolcanoJob | None:
    """The Volcano Job of the PodGroup, as the cluster has it."""
    for job in world.captured(VOLCANO_JOB, VolcanoJob):
        owns = target.found is not None and job.owns(target.found.metadata)
        if owns or (target.kind == "job" and job.metadata.key == target.name) or group_key(job) == target.group:
            return job
    return None


def refused_job(world: World, target: Target) -> tuple[VolcanoJob, Refusal] | None:
    """The Job whose controller could not create the pods that it lacks, and why; None where that is not so."""
    job = job_of(world, target) if len(target.pods) < target.need else None
    tried = world.simulation.cluster.get(VOLCANO_JOB, job.metadata.key, VolcanoJob) if job is not None else None
    refusal = refusal_of(tried.status.state) if tried is not None else None
    return (job, refusal) if job is not None and refusal is not None else None


def queue_of(world: World, target: Target) -> str:
    """The name of its queue; "" for none."""
    job = world.jobs.get(target.group)
    if job is not None:
        return job.queue.name
    return "" if target.found is None else target.found.spec.queue


def queues_above(world: World, queue: str) -> Iterator[str]:
    """The queue and, where a plugin has queues in a tree, each queue above it; the last one may not exist."""
    reports, paths = world.report.queues, world.session.ask.queue_paths() or {}
    while queue:
        yield queue
        report = reports.get(queue)
        queue = report.parent if report is not None and report.parent != queue and queue in paths else ""


def queues_below(world: World, queue: str) -> set[str]:
    """The queue and all queues below it."""
    names = {queue}
    while True:
        more = {name for name, report in world.report.queues.items() if report.parent in names} - names
        if not more:
            return names
        names |= more


def _check_shard(world: World, kind: str, name: str, group: PodGroup | None) -> None:
    queue = (group.spec.queue if group is not None else "") or world.rules.default_queue
    shard = world.simulation.state.shard_of_queue(queue)
    if shard:
        raise ExplainError(
            f"{kind} {name} is in queue {queue}, which shard {shard} decides: explain it with "
            f"--scheduler-sharding-name {shard}"
        )


def _groups(world: World, kind: str, name: str) -> list[str]:
    """namespace/name of its PodGroups, the oldest first; "" for a pod without one."""
    found = None
    if kind == "podgroup":
        found = _itself(world, name)
    elif kind == "pod":
        found = _of_pod(world, name)
    elif kind == "job":
        found = _of_volcano_job(world, name)
    if found is not None:
        return [found]
    if groups := _of_owner(world, kind, name) if kind in OWNERS else []:
        return groups
    raise _no_workload(kind, name)


def _itself(world: World, name: str) -> str | None:
    if world.simulation.state.leaves_alone(name):
        raise ExplainError(
            f"PodGroup {name} belongs to another scheduler, by its pods or by its owner: this scheduler "
            f"({', '.join(sorted(world.rules.scheduler_names))}) does not schedule it"
        )
    return name if world.group(name) is not None or _job_of_group(world, name) is not None else None


def _of_pod(world: World, name: str) -> str | None:
    pod = world.simulation.cluster.get("Pod", name, Pod)
    if pod is None:
        return None
    _check_scheduler(world, f"pod {name} has", "it", pod)
    return group_of(pod)


def _of_volcano_job(world: World, name: str) -> str | None:
    job = world.simulation.cluster.get(VOLCANO_JOB, name, VolcanoJob)
    if job is None:
        return None
    owned = [each for each in world.objects("PodGroup", PodGroup) if job.owns(each.metadata)]
    own = group_key(job)
    if owned and owned[0].status.phase not in ("", "Pending") and world.simulation.state.leaves_alone(own):
        # Until then, the reason why it waits may be that no scheduler has this name.
        raise ExplainError(
            f"job {name} has schedulerName {job.spec.scheduler_name}: this scheduler "
            f"({', '.join(sorted(world.rules.scheduler_names))}) does not place its pods; look at the events"
        )
    return owned[0].metadata.key if owned else own


def _job_of_group(world: World, group: str) -> VolcanoJob | None:
    """The Volcano Job whose PodGroup has this name (namespace/name), or would have it."""
    return next((job for job in world.objects(VOLCANO_JOB, VolcanoJob) if group_key(job) == group), None)


def _of_owner(world: World, kind: str, name: str) -> list[str]:
    """Those of the pods that one of Kubernetes' own workloads owns; none where there is no such workload."""
    namespace, _, own_name = name.rpartition("/")
    owner = (*OWNERS[kind], own_name)
    in_namespace = (pod for pod in world.objects("Pod", Pod) if pod.metadata.namespace == namespace)
    pods = sorted((pod for pod in in_namespace if owner in _owners(world, pod)), key=lambda pod: pod.metadata.created)
    if not pods:
        _check_without_pods(world, kind, name)
        return []
    ours = [pod for pod in pods if pod.spec.scheduler_name in world.rules.scheduler_names]
    if not ours:
        _check_scheduler(world, f"the pods of {kind} {name} have", "them", pods[0])
    groups = dict.fromkeys(group_of(pod) for pod in ours if is_live(pod))
    if not groups:
        raise ExplainError(f"the pods of {kind} {name} have ended: there is nothing left to schedule")
    return list(groups)


def _owners(world: World, pod: Pod) -> Iterator[Owner | None]:
    """The pod's controller, and the Deployment above a ReplicaSet. Where that is not read, its name says which one."""
    owner = _controller(pod.metadata)
    yield owner
    if owner is None or owner[:2] != OWNERS["replicaset"]:
        return
    name = owner[2]
    replica_set = world.simulation.cluster.get("ReplicaSet", f"{pod.metadata.namespace}/{name}", Workload)
    if replica_set is not None:
        yield _controller(replica_set.metadata)
    elif deployment := deployment_of(name, pod.metadata.labels):
        yield (*OWNERS["deployment"], deployment)


def _controller(metadata: ObjectMeta) -> Owner | None:
    owner = metadata.controller
    return (owner.group, owner.kind, owner.name) if owner is not None else None


def _check_without_pods(world: World, kind: str, name: str) -> None:
    """Raise if there is such a workload, which then has no pods. Deployments are known by their ReplicaSets."""
    namespace, _, own_name = name.rpartition("/")
    group, owner = OWNERS[kind]
    replica_sets = (each.metadata for each in world.objects("ReplicaSet", Workload))
    owned = (each for each in replica_sets if each.namespace == namespace)
    is_there = world.simulation.cluster.get(owner, name, Workload) is not None
    if is_there or any(_controller(each) == (group, owner, own_name) for each in owned):
        how = f"kubectl describe {owner.lower()}.{group} {own_name} --namespace {namespace}"
        raise ExplainError(f"{kind} {name} has no pods: `{how}` says why")


def _check_scheduler(world: World, whose: str, it: str, pod: Pod) -> None:
    if pod.spec.scheduler_name not in world.rules.scheduler_names:
        raise ExplainError(
            f"{whose} schedulerName {pod.spec.scheduler_name or 'default-scheduler'}: this scheduler "
            f"({', '.join(sorted(world.rules.scheduler_names))}) does not place {it}; look at the events"
        )


def _no_workload(kind: str, name: str) -> ExplainError:
    looked = [f"no pod belongs to a Kubernetes {OWNERS[kind][1]} of this name"] if kind in OWNERS else []
    if kind == "job":
        looked.insert(0, "no Volcano Job has this name")
    return missing(kind, name, looked)


def missing(kind: str, name: str, looked: Sequence[str] = ()) -> ExplainError:
    """The error for an object that is not there, with what was `looked` for."""
    why = f": {', and '.join(looked)}" if looked else ""
    return ExplainError(
        f"{kind} {name} does not exist, or you may not read it{why}; check its name and --namespace. "
        f"Kinds that can be explained: {', '.join(EXPLAINABLE)}"
    )


def inherited_from(world: World, group: PodGroup) -> tuple[OwnerReference, Workload | None] | None:
    """The workload of Kubernetes whose annotations a generated PodGroup follows, and its object where that could be
    read; None for a PodGroup of anything else."""
    owner = group.metadata.controller
    if owner is None or (owner.group, owner.kind) not in INHERITING_OWNERS:
        return None
    return owner, world.simulation.cluster.get(owner.kind, f"{group.metadata.namespace}/{owner.name}", Workload)


def as_captured(world: World, target: Target) -> list[Pod]:
    """Its pods as the cluster has them, before the scheduler ran over the copy."""
    keys, pods = {pod.metadata.key for pod in target.pods}, world.captured("Pod", Pod)
    return [pod for pod in pods if pod.metadata.key in keys or (target.group and group_of(pod) == target.group)]


def captured_group(world: World, target: Target) -> PodGroup | None:
    """Its PodGroup as the cluster has it."""
    groups = world.captured("PodGroup", PodGroup)
    return next((group for group in groups if group.metadata.key == target.group), None)
