"""What is read of a pod: what the state keeps of it, and the columns of its row that follow from the pod alone."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import msgspec

from volcano_py.api import names
from volcano_py.api.annotations.known import values_of_pod
from volcano_py.api.effects import ObjectRef
from volcano_py.api.objects import Condition, Pod
from volcano_py.state.classes.limits import pod_limits
from volcano_py.state.devices.entries import device_claims_of
from volcano_py.state.infos import TaskInfo
from volcano_py.state.status import TaskStatus, status_of
from volcano_py.state.table.columns import ANY_PRIORITY
from volcano_py.state.volumes.needs import claims_of

_INT64_MASK = 2**63 - 1

FIXED: Final = ("created", "suffix", "tiebreak")
"""Columns that keep their values as long as the pod exists."""
MUTABLE: Final = (
    "priority",
    "pod_priority",
    "gated",
    "nominated",
    "preemptable",
    "leaves_at",
    "leaving_since",
    "scheduled_at",
    "started_at",
    "deadline",
)
"""Columns that another version of the pod may change."""


class PodReading(msgspec.Struct, frozen=True, gc=False):
    """One pod. `key`: namespace/name; `ours`: whether it names this scheduler; `status`: what the API server says."""

    pod: Pod
    key: str
    ours: bool
    status: TaskStatus
    info: TaskInfo


def read_pod(pod: Pod, *, ours: bool) -> PodReading:
    """Never raises: what cannot be read is reported in the reading's `info`."""
    return PodReading(pod, pod.metadata.key, ours, status_of(pod), task_info(pod, ours=ours))


def fixed_values(pod: Pod, key: str) -> tuple[float, int, int]:
    """For the columns `FIXED`."""
    return pod.metadata.created, name_suffix(pod.metadata.name), tiebreak_of(key)


def mutable_values(pod: Pod, info: TaskInfo) -> tuple[float, ...]:
    """For the columns `MUTABLE`."""
    priority, leaves = pod.spec.priority, leaves_at(pod)
    return (
        info.priority,
        ANY_PRIORITY if priority is None else priority,
        bool(info.gates),
        bool(info.nominated_node),
        info.preemptable,
        leaves,
        leaves - (pod.metadata.deletion_grace_period_seconds or 0) if leaves else 0.0,
        scheduled_at(pod),
        started_at(pod),
        deadline_of(pod),
    )


def name_suffix(name: str) -> int:
    """Number after the last dash (`job-task-12` → 12, `train-3` → 3), else 0: pods of a gang go in this order."""
    begin, _, digits = name.rpartition("-")
    return int(digits[:18]) if begin and digits.isascii() and digits.isdigit() else 0


def tiebreak_of(key: str) -> int:
    """A stable pseudo-random order by namespace and name for what is otherwise equal: the order of events does not
    count, and pods that are created again under their names keep their places."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") & _INT64_MASK


def task_info(pod: Pod, *, ours: bool) -> TaskInfo:
    meta, annotations, labels = pod.metadata, pod.metadata.annotations, pod.metadata.labels
    unscheduled = _condition(pod, "False")
    said, priority = values_of_pod(meta), pod.spec.priority
    says_preemptable = said.preemptable is True
    return TaskInfo(
        ref=ObjectRef("Pod", meta.namespace, meta.name, meta.uid),
        group=annotations.get(names.GROUP_NAME, ""),
        ours=ours,
        role=annotations.get(names.TASK_SPEC) or labels.get(names.TASK_SPEC, ""),
        gates=tuple([gate.name for gate in pod.spec.scheduling_gates]),
        nominated_node=pod.status.nominated_node_name,
        preemptable=said.preemptable is not False,
        preemption_policy=pod.spec.preemption_policy,
        priority_class=pod.spec.priority_class_name,
        labels=labels,
        condition=unscheduled,
        cooldown=said.cooldown or 0.0,
        claims=claims_of(pod),
        device_claims=device_claims_of(pod),
        says_preemptable=says_preemptable,
        uses_revocable=says_preemptable if said.uses_revocable is None else said.uses_revocable,
        named_queue=annotations.get(names.QUEUE_NAME, ""),
        limits=pod_limits(pod.spec),
        priority=said.priority if said.priority is not None else 1 if priority is None else priority,
        has_controller=meta.controller is not None,
        unreadable=said.unreadable,
    )


def leaves_at(pod: Pod) -> float:
    """When a terminating pod is killed at the latest (the API server adds the grace period), else 0."""
    moment = pod.metadata.deletion_timestamp
    return 0.0 if moment is None else moment.timestamp()


def scheduled_at(pod: Pod) -> float:
    """When the pod was scheduled, by its condition; 0 when it is not known to be."""
    scheduled = _condition(pod, "True")
    moment = scheduled.last_transition_time if scheduled is not None else None
    return 0.0 if moment is None else moment.timestamp()


def started_at(pod: Pod) -> float:
    """When the kubelet started the pod, 0 when it has not."""
    moment = pod.status.start_time
    return 0.0 if moment is None else moment.timestamp()


def deadline_of(pod: Pod) -> float:
    """Seconds after its start at which the pod is killed, 0 for never."""
    return float(max(pod.spec.active_deadline_seconds or 0, 0))


def _condition(pod: Pod, status: str) -> Condition | None:
    """The pod's condition PodScheduled, if it has this status."""
    for condition in pod.status.conditions:  # (once for each pod: a generator would take twice as long)
        if condition.type == names.POD_SCHEDULED and condition.status == status:
            return condition
    return None
