"""`batch.volcano.sh/v1alpha1`, kind `Job`, as far as the controller reads it. Pod templates stay as they are (`dict`).

Defaults here are those of the CRD; `defaults` fills in what admission would have added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

from volcano_py.api.go_values import parse_duration
from volcano_py.api.objects import ApiObject, ObjectMeta

BATCH_API: Final = "batch.volcano.sh/v1alpha1"
JOB_KIND: Final = "Job"


class JobPhase(StrEnum):
    """`status.state.phase`; empty for a Job that no controller has seen yet."""

    NEW = ""
    PENDING = "Pending"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    ABORTING = "Aborting"
    ABORTED = "Aborted"
    COMPLETING = "Completing"
    COMPLETED = "Completed"
    TERMINATING = "Terminating"
    TERMINATED = "Terminated"
    FAILED = "Failed"


FINISHED: Final = frozenset({JobPhase.COMPLETED, JobPhase.FAILED, JobPhase.TERMINATED})
"""Phases that a Job never leaves; only its `ttlSecondsAfterFinished` counts from there."""


class JobEvent(StrEnum):
    """What a policy may react to; and `CommandIssued`, to which policies do not react."""

    ANY = "*"
    POD_FAILED = "PodFailed"
    POD_EVICTED = "PodEvicted"
    POD_PENDING = "PodPending"
    UNKNOWN = "Unknown"
    TASK_COMPLETED = "TaskCompleted"
    TASK_FAILED = "TaskFailed"
    JOB_UPDATED = "JobUpdated"
    COMMAND_ISSUED = "CommandIssued"


class JobAction(StrEnum):
    """What a policy or a Command may ask for."""

    ABORT = "AbortJob"
    RESTART_JOB = "RestartJob"
    RESTART_TASK = "RestartTask"
    RESTART_POD = "RestartPod"
    RESTART_PARTITION = "RestartPartition"
    TERMINATE = "TerminateJob"
    COMPLETE = "CompleteJob"
    RESUME = "ResumeJob"
    SYNC = "SyncJob"


class JobMeta(ObjectMeta, frozen=True):
    """Metadata with the generation, which grows with every change of the spec."""

    generation: int = 0


_POLICY_ACTIONS: Final = frozenset(JobAction) - {JobAction.SYNC}


class Policy(ApiObject, frozen=True, dict=True, gc=True):
    """`event`/`events` or `exitCode`, and the action; `timeout` is a duration such as `10m`."""

    event: str = ""
    events: list[str] = []
    exit_code: int | None = None
    action: str = ""
    timeout: str = ""

    @property
    def all_events(self) -> frozenset[str]:
        """`event` and `events` together."""
        return frozenset(filter(None, (self.event, *self.events)))

    @cached_property
    def delay(self) -> float:
        """The timeout in seconds; one that cannot be read is none."""
        try:
            return max(0.0, parse_duration(self.timeout).total_seconds()) if self.timeout else 0.0
        except ValueError:
            return 0.0


class PolicyTable:
    """A list of policies, found by what they react to. Of several with the same event or exit code the first counts;
    policies with an unknown action never do."""

    def __init__(self, policies: Iterable[Policy]) -> None:
        self._events: dict[str, tuple[int, Policy]] = {}
        self._timed_events: dict[str, tuple[int, Policy]] = {}
        self._exit_codes: dict[int, tuple[int, Policy]] = {}
        for place in enumerate(policies):
            policy = place[1]
            if policy.action not in _POLICY_ACTIONS:
                continue
            for event in policy.all_events:
                self._events.setdefault(event, place)
                if policy.delay:
                    self._timed_events.setdefault(event, place)
            if policy.exit_code:
                self._exit_codes.setdefault(policy.exit_code, place)

    def first(self, events: Iterable[str], exit_code: int | None = None, *, timed: bool = False) -> Policy | None:
        """The first policy for one of these events or this exit code; `timed`: only policies with a timeout."""
        of_events = self._timed_events if timed else self._events
        found = [of_events[event] for event in events if event in of_events]
        if exit_code in self._exit_codes and not timed:
            found.append(self._exit_codes[exit_code])
        return min(found, key=_place)[1] if found else None


def _place(found: tuple[int, Policy]) -> int:
    return found[0]


class VolumeSpec(ApiObject, frozen=True):
    """A volume of all pods: a claim that exists, or one that is created with the job."""

    mount_path: str = ""
    volume_claim_name: str = ""
    volume_claim: dict[str, Any] | None = None


class DependsOn(ApiObject, frozen=True):
    """The tasks that must have started before this one: `any` of them, or `all`."""

    name: list[str] = []
    iteration: str = ""


class PartitionPolicy(ApiObject, frozen=True):
    """A task's pods in groups of equal size."""

    total_partitions: int = 0
    partition_size: int = 0
    min_partitions: int = 0
    network_topology: dict[str, Any] | None = None


class Task(ApiObject, frozen=True, dict=True, gc=True):
    """Equal pods: `replicas` of `template`. `min_available` None means all of them, `max_retry` -1 no limit."""

    name: str = ""
    replicas: int = 0
    min_available: int | None = None
    template: dict[str, Any] = {}
    policies: list[Policy] = []
    topology_policy: str = ""
    max_retry: int = 3
    depends_on: DependsOn | None = None
    partition_policy: PartitionPolicy | None = None

    @property
    def minimum(self) -> int:
        """How many of its pods must run together."""
        return self.replicas if self.min_available is None else self.min_available

    @cached_property
    def policy_table(self) -> PolicyTable:
        return PolicyTable(self.policies)


class JobSpec(ApiObject, frozen=True, dict=True, gc=True):
    scheduler_name: str = ""
    min_available: int = 0
    queue: str = ""
    max_retry: int = 3
    ttl_seconds_after_finished: int | None = None
    priority_class_name: str = ""
    min_success: int | None = None
    running_estimate: str = ""
    plugins: dict[str, list[str] | None] = {}
    policies: list[Policy] = []
    volumes: list[VolumeSpec] = []
    network_topology: dict[str, Any] | None = None
    tasks: list[Task] = []

    @cached_property
    def policy_table(self) -> PolicyTable:
        return PolicyTable(self.policies)

    @cached_property
    def replicas(self) -> int:
        """Pods of all tasks."""
        return sum(task.replicas for task in self.tasks)

    @cached_property
    def task_by_name(self) -> Mapping[str, Task]:
        """The first task of each name."""
        return {task.name: task for task in reversed(self.tasks)}


class JobState(ApiObject, frozen=True):
    phase: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class TaskState(ApiObject, frozen=True):
    """Pods of one task by their phase."""

    phase: dict[str, int] = {}


class JobCondition(ApiObject, frozen=True):
    """`status` is a phase of the Job, the time when it got there last."""

    status: str = ""
    last_transition_time: datetime | None = None


class JobStatus(ApiObject, frozen=True):
    state: JobState = JobState()
    min_available: int = 0
    task_status_count: dict[str, TaskState] = {}
    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    unknown: int = 0
    version: int = 0
    retry_count: int = 0
    running_duration: str = ""
    controlled_resources: dict[str, str] = {}
    conditions: list[JobCondition] = []

    @property
    def phase(self) -> JobPhase:
        """The phase; one that is unknown counts as none yet."""
        try:
            return JobPhase(self.state.phase)
        except ValueError:
            return JobPhase.NEW


class VolcanoJob(ApiObject, frozen=True):
    """A Volcano Job."""

    metadata: JobMeta
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    def task(self, name: str) -> Task | None:
        """The task of this name."""
        return self.spec.task_by_name.get(name)

    @property
    def replicas(self) -> int:
        """Pods of all tasks."""
        return self.spec.replicas

    @property
    def owner_reference(self) -> dict[str, Any]:
        """For what the job creates: the garbage collector deletes it with the Job.

        `blockOwnerDeletion` makes a foreground deletion wait for the pods; setting it takes the right to update
        `jobs/finalizers`.
        """
        return {
            "apiVersion": BATCH_API,
            "kind": JOB_KIND,
            "name": self.metadata.name,
            "uid": self.metadata.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }

    def owns(self, metadata: ObjectMeta) -> bool:
        """Whether an object is this very job's, not a namesake's."""
        owner = metadata.controller
        return owner is not None and owner.uid == self.metadata.uid
