"""The PodGroup of a Job: the pods that start together, and what they request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import msgspec

from volcano_py.api.effects import JsonObject
from volcano_py.api.names import RUNNING_ESTIMATE, SCHEDULING_API, TASK_SPEC
from volcano_py.api.objects import PodGroup, PodSpec, ResourceList
from volcano_py.api.quantity import LARGEST
from volcano_py.api.quota_usage import pod_limits, quota_usage
from volcano_py.api.requests import Amounts, RequestError, pod_requests
from volcano_py.jobs.model import Task, VolcanoJob
from volcano_py.jobs.names import JOB_VERSION, PARTITION_ID, group_name

# What kubectl keeps there is about the Job, and may be large.
_NOT_INHERITED: Final = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})


def group_key(job: VolcanoJob) -> str:
    """namespace/name of the PodGroup, whether or not that exists."""
    return f"{job.metadata.namespace}/{group_name(job.metadata.name, job.metadata.uid)}"


def group_of(job: VolcanoJob, priorities: Mapping[str, int]) -> JsonObject:
    """The PodGroup as it should be. `priorities`: value of each PriorityClass."""
    meta, spec = job.metadata, job.spec
    annotations = {key: value for key, value in meta.annotations.items() if key not in _NOT_INHERITED}
    if spec.running_estimate:
        annotations[RUNNING_ESTIMATE] = spec.running_estimate
    wanted: JsonObject = {
        "minMember": spec.min_available,
        "minTaskMember": {task.name: task.minimum for task in spec.tasks},
        "queue": spec.queue,
    }
    if lowest := _lowest_class(job, priorities):
        wanted["priorityClassName"] = lowest
    if (resources := min_resources(job, priorities)) is not None:
        wanted["minResources"] = resources
    if spec.network_topology is not None:
        wanted["networkTopology"] = spec.network_topology
    if policies := [_sub_group(task) for task in spec.tasks if task.partition_policy is not None]:
        wanted["subGroupPolicy"] = policies
    return {
        "apiVersion": SCHEDULING_API,
        "kind": "PodGroup",
        "metadata": {
            "name": group_name(meta.name, meta.uid),
            "namespace": meta.namespace,
            "labels": dict(meta.labels),
            "annotations": {**annotations, JOB_VERSION: str(job.status.version)},
            "ownerReferences": [job.owner_reference],
        },
        "spec": wanted,
        "status": {"phase": "Pending"},
    }


def is_outdated(job: VolcanoJob, group: PodGroup) -> bool:
    """Whether the group is that of an earlier version. One that says nothing was created by Volcano's controller."""
    text = group.metadata.annotations.get(JOB_VERSION, "")
    return text.isascii() and text.isdigit() and int(text[:10]) < job.status.version


def group_changes(existing: PodGroup, wanted: JsonObject) -> JsonObject:
    """Merge patch that brings the group up to date with an edited job; empty when it is."""
    spec = wanted["spec"]
    changes: JsonObject = {}
    if existing.spec.min_member != spec["minMember"]:
        changes["minMember"] = spec["minMember"]
    if existing.spec.min_task_member != spec["minTaskMember"]:
        gone = dict.fromkeys(existing.spec.min_task_member)
        changes["minTaskMember"] = gone | spec["minTaskMember"]
    if existing.spec.priority_class_name != spec.get("priorityClassName", ""):
        changes["priorityClassName"] = spec.get("priorityClassName")
    resources = spec.get("minResources")
    if resources is not None and existing.spec.min_resources != resources:
        changes["minResources"] = dict.fromkeys(existing.spec.min_resources or {}) | resources
    policies = spec.get("subGroupPolicy", [])
    # Of a job without partitions, what another client has written into the group stays.
    if policies and _with_mode(existing.spec.sub_group_policy) != _with_mode(policies):
        changes["subGroupPolicy"] = policies
    return {"spec": changes} if changes else {}


def _with_mode(policies: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """With the default that the API server fills in."""
    found: list[Mapping[str, Any]] = []
    for policy in policies:
        topology = policy.get("networkTopology")
        filled = {"networkTopology": {"mode": "hard", **topology}} if isinstance(topology, Mapping) else {}
        found.append({**policy, **filled})
    return found


def min_resources(job: VolcanoJob, priorities: Mapping[str, int]) -> ResourceList | None:
    """What the pods take that the job needs at least, under the names of a quota.

    With a minimum below that of all tasks: of the first `minAvailable` pods, tasks of higher priority first. Otherwise
    of each task's minimum, and of further replicas, in the same order, up to `minAvailable`. None if an amount cannot
    be read: then nothing is checked before the pods are created, and the scheduler reports it on them.
    """
    chosen = _chosen(job, priorities)
    requests: Amounts = {}
    limits: Amounts = {}
    for task, count in chosen:
        try:
            spec = template_spec(task)
            _add(requests, pod_requests(spec), count)
            _add(limits, pod_limits(spec), count)
        except (RequestError, msgspec.ValidationError):
            return None
    if any(value > LARGEST for amounts in (requests, limits) for value in amounts.values()):
        return None
    return quota_usage(sum(count for _, count in chosen), requests, limits)


def template_spec(task: Task) -> PodSpec:
    """The pod spec of the task's template.

    Raises:
        msgspec.ValidationError: a field has the wrong type.
    """
    return msgspec.convert(task.template.get("spec") or {}, PodSpec, strict=False)


def _chosen(job: VolcanoJob, priorities: Mapping[str, int]) -> list[tuple[Task, int]]:
    """How many pods of each task count as the minimum."""
    tasks = sorted(job.spec.tasks, key=lambda task: -_priority(job, task, priorities))
    minimum = job.spec.min_available
    counts = {task.name: 0 for task in tasks}
    if minimum >= sum(task.minimum for task in tasks):
        counts = {task.name: task.minimum for task in tasks}
    left = minimum - sum(counts.values())
    for task in tasks:
        more = max(0, min(left, task.replicas - counts[task.name]))
        counts[task.name] += more
        left -= more
    return [(task, counts[task.name]) for task in tasks if counts[task.name]]


def _priority(job: VolcanoJob, task: Task, priorities: Mapping[str, int]) -> int:
    return priorities.get(_class_of(job, task), 0)


def _class_of(job: VolcanoJob, task: Task) -> str:
    """The PriorityClass that pods of the task get; "" for none."""
    spec = task.template.get("spec")
    name = spec.get("priorityClassName", "") if isinstance(spec, dict) else ""
    return str(name or job.spec.priority_class_name)


def _lowest_class(job: VolcanoJob, priorities: Mapping[str, int]) -> str:
    """The lowest of the PriorityClasses of the job and of its pods, as the scheduler counts it once there are pods."""
    names = [job.spec.priority_class_name, *(_class_of(job, task) for task in job.spec.tasks if task.replicas)]
    return min(names, key=lambda name: priorities.get(name, 0))


def _add(total: Amounts, more: Amounts, count: int) -> None:
    for name, value in more.items():
        total[name] = total.get(name, Fraction(0)) + value * count


def _sub_group(task: Task) -> dict[str, Any]:
    """Pods of the task, one sub-group for each partition."""
    partition = task.partition_policy
    assert partition is not None
    policy: dict[str, Any] = {
        "name": task.name,
        "labelSelector": {"matchLabels": {TASK_SPEC: task.name}},
        "matchLabelKeys": [PARTITION_ID],
        "subGroupSize": partition.partition_size,
        "minSubGroups": partition.min_partitions,
    }
    if partition.network_topology is not None:
        policy["networkTopology"] = partition.network_topology
    return policy
