"""Pods of a Job, from the templates of its tasks."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from volcano_py.api.effects import JsonObject
from volcano_py.api.names import (
    CHARGED_QUEUE,
    COOLDOWN_TIME,
    GROUP_NAME,
    JDB_MAX_UNAVAILABLE,
    JDB_MIN_AVAILABLE,
    NUMA_POLICY,
    PREEMPTABLE,
    REVOCABLE_ZONE,
    TASK_SPEC,
)
from volcano_py.jobs.model import Task, VolcanoJob, VolumeSpec
from volcano_py.jobs.names import (
    JOB_NAME,
    JOB_NAMESPACE,
    JOB_QUEUE,
    JOB_RETRY_COUNT,
    JOB_VERSION,
    LONGEST_LABEL,
    PARTITION_ID,
    TASK_INDEX,
    TEMPLATE_UID,
    group_name,
    pod_name,
)
from volcano_py.jobs.plugins.plugin import JobPlugin

# What a Job says of itself holds for its pods too, unless their template says otherwise.
_INHERITED_ANNOTATIONS: Final = (PREEMPTABLE, COOLDOWN_TIME, REVOCABLE_ZONE, JDB_MIN_AVAILABLE, JDB_MAX_UNAVAILABLE)
_INHERITED_LABELS: Final = (PREEMPTABLE, COOLDOWN_TIME)


def pod_of(job: VolcanoJob, task: Task, index: int, plugins: Sequence[JobPlugin] = ()) -> JsonObject:
    """The pod of this number of the task. The same call makes the same pod.

    A plugin may raise anything: it may come from outside this project.
    """
    template = copy.deepcopy(task.template)
    metadata: dict[str, Any] = template.get("metadata") or {}
    spec: dict[str, Any] = template.get("spec") or {}
    spec["schedulerName"] = spec.get("schedulerName") or job.spec.scheduler_name
    if job.spec.priority_class_name and not spec.get("priorityClassName"):
        spec["priorityClassName"] = job.spec.priority_class_name
    if spec.get("hostNetwork") and not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    _add_volumes(spec, job)
    pod: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod_name(job.metadata.name, task.name, index),
            "namespace": job.metadata.namespace,
            "labels": _labels(job, task, index, metadata.get("labels") or {}),
            "annotations": _annotations(job, task, index, metadata.get("annotations") or {}),
            "ownerReferences": [job.owner_reference],
        },
        "spec": spec,
    }
    if finalizers := metadata.get("finalizers"):
        pod["metadata"]["finalizers"] = finalizers
    for plugin in plugins:
        plugin.on_pod_create(pod, job, task, index)
    return pod


def partition_of(task: Task, index: int) -> int | None:
    """The partition that the pod of this number belongs to."""
    partition = task.partition_policy
    return index // partition.partition_size if partition is not None and partition.partition_size > 0 else None


def claim_name(job: VolcanoJob, number: int) -> str:
    """Name of the claim that is created for the volume of this number: the same every time, and of this job alone."""
    digest = hashlib.sha256(f"{job.metadata.uid}/{number}".encode()).hexdigest()[:12]
    return f"{job.metadata.name}-pvc-{digest}"


def claim_of(job: VolcanoJob, number: int, volume: VolumeSpec) -> JsonObject:
    """The PersistentVolumeClaim for a volume that brings its own."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": claim_name(job, number),
            "namespace": job.metadata.namespace,
            "labels": {JOB_NAME: job.metadata.name},
            "ownerReferences": [job.owner_reference],
        },
        "spec": copy.deepcopy(volume.volume_claim),
    }


def _labels(job: VolcanoJob, task: Task, index: int, given: Mapping[str, str]) -> dict[str, str]:
    inherited: dict[str, str] = {
        key: job.metadata.labels[key] for key in _INHERITED_LABELS if key in job.metadata.labels
    }
    labels: dict[str, str] = {
        **inherited,
        **given,
        TASK_INDEX: str(index),
        JOB_NAME: job.metadata.name,
        TASK_SPEC: task.name,
        JOB_NAMESPACE: job.metadata.namespace,
    }
    # A long name is no valid label; nothing of ours looks for it.
    if len(job.spec.queue) <= LONGEST_LABEL:
        labels[JOB_QUEUE] = job.spec.queue
    if (partition := partition_of(task, index)) is not None:
        labels[PARTITION_ID] = str(partition)
    return labels


def _annotations(job: VolcanoJob, task: Task, index: int, given: Mapping[str, str]) -> dict[str, str]:
    seen = job.metadata.annotations
    annotations: dict[str, str] = {
        **{key: seen[key] for key in _INHERITED_ANNOTATIONS if key in seen},
        # The right to say what a pod is charged to is ours, not the template's author's.
        **{key: value for key, value in given.items() if key != CHARGED_QUEUE},
        TASK_INDEX: str(index),
        TASK_SPEC: task.name,
        JOB_NAME: job.metadata.name,
        JOB_QUEUE: job.spec.queue,
        JOB_VERSION: str(job.status.version),
        JOB_RETRY_COUNT: str(job.status.retry_count),
        TEMPLATE_UID: f"{job.metadata.name}-{task.name}",
        GROUP_NAME: group_name(job.metadata.name, job.metadata.uid),
    }
    if task.topology_policy:
        annotations[NUMA_POLICY] = task.topology_policy
    return annotations


def _add_volumes(spec: dict[str, Any], job: VolcanoJob) -> None:
    """Every container gets every volume of the job."""
    mounts = []
    for number, volume in enumerate(job.spec.volumes):
        name = f"volcano-job-{number}"
        claim = volume.volume_claim_name or claim_name(job, number)
        spec.setdefault("volumes", []).append({"name": name, "persistentVolumeClaim": {"claimName": claim}})
        mounts.append({"name": name, "mountPath": volume.mount_path})
    if not mounts:
        return
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            container.setdefault("volumeMounts", []).extend(copy.deepcopy(mounts))
