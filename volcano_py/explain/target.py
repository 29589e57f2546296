"""The workload that is asked about."""

from __future__ import annotations

import msgspec
import numpy as np

from volcano_py.api.objects import Pod, PodGroup
from volcano_py.cluster.manifests import VOLCANO_JOB
from volcano_py.cluster.memory_pods import group_of
from volcano_py.explain.world import World
from volcano_py.jobs.model import VolcanoJob
from volcano_py.state.status import TaskStatus
from volcano_py.state.task_class import TaskClass


class ExplainError(ValueError):
    """There is no such object; the text says what to do."""


class Target(msgspec.Struct, frozen=True):
    """A PodGroup and its pods, as the settled copy has them.

    Attributes:
        kind, name: what was asked for; `name` is namespace/name.
        group: namespace/name of the PodGroup; there may be none of that name.
        pods: all pods of the group, or the one without a group.
        need: how many pods must have a node for the workload to count as started: the minimum, or all if that runs.
    """

    kind: str
    name: str
    group: str
    pods: tuple[Pod, ...]
    need: int
    found: PodGroup | None

    @property
    def waiting(self) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods if not pod.spec.node_name and pod.status.phase == "Pending")


def find(world: World, kind: str, name: str) -> Target:
    """The workload `kind` (podgroup, job or pod) `name` (namespace/name).

    Raises:
        ExplainError: the cluster has none of that name.
    """
    group = _group(world, kind, name)
    found = world.group(group)
    _check_shard(world, kind, name, found)
    pods = tuple(world.pods_of(group)) if group else ()
    if not group:
        pod = world.simulation.cluster.get("Pod", name, Pod)
        pods = (pod,) if pod is not None else ()
    minimum = max(found.spec.min_member if found is not None else 1, 1)
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


def _group(world: World, kind: str, name: str) -> str:
    cluster = world.simulation.cluster
    if kind == "podgroup":
        if world.simulation.state.leaves_alone(name):
            raise ExplainError(
                f"PodGroup {name} belongs to another scheduler, by its pods or by its owner: this scheduler "
                f"({', '.join(sorted(world.rules.scheduler_names))}) does not schedule it"
            )
        if world.group(name) is not None:
            return name
    elif kind == "pod":
        pod = cluster.get("Pod", name, Pod)
        if pod is not None:
            if pod.spec.scheduler_name not in world.rules.scheduler_names:
                raise ExplainError(
                    f"pod {name} has schedulerName {pod.spec.scheduler_name or 'default-scheduler'}: this scheduler "
                    f"({', '.join(sorted(world.rules.scheduler_names))}) does not place it; look at its events"
                )
            return group_of(pod)
    else:
        job = cluster.get(VOLCANO_JOB, name, VolcanoJob)
        if job is not None:
            owned = [each for each in world.objects("PodGroup", PodGroup) if job.owns(each.metadata)]
            return owned[0].metadata.key if owned else f"{job.metadata.namespace}/{job.metadata.name}"
    raise ExplainError(f"{kind} {name} does not exist, or you may not read it: check its name and --namespace")
