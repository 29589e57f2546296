"""The pods of a Job as its state machine sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import msgspec

from volcano_py.api.names import DISRUPTION_TARGET, PREEMPTION_BY_SCHEDULER, TASK_SPEC
from volcano_py.api.objects import Pod
from volcano_py.jobs.model import Task, VolcanoJob
from volcano_py.jobs.names import JOB_VERSION, pod_name

DONE: Final = frozenset({"Succeeded", "Failed"})
"""Pod phases that are final."""
_PHASES: Final = frozenset({"Pending", "Running", "Succeeded", "Failed"})


class Member(msgspec.Struct, frozen=True):
    """One pod. `version` is that of the job when the pod was created."""

    pod: Pod
    task: str
    index: int
    version: int

    @property
    def name(self) -> str:
        return self.pod.metadata.name

    @property
    def phase(self) -> str:
        """Pending, Running, Succeeded, Failed or Unknown."""
        phase = self.pod.status.phase or "Pending"
        return phase if phase in _PHASES else "Unknown"

    @property
    def done(self) -> bool:
        return self.phase in DONE

    @property
    def deleted(self) -> bool:
        """Whether it is being deleted."""
        return self.pod.metadata.deletion_timestamp is not None

    @property
    def ready(self) -> bool:
        """Running and ready, or finished with success: what other tasks wait for."""
        if self.phase == "Succeeded":
            return True
        conditions = self.pod.status.conditions
        return self.phase == "Running" and any(c.type == "Ready" and c.status == "True" for c in conditions)

    @property
    def exit_code(self) -> int | None:
        """Exit code of the first container of the spec, once it has ended."""
        containers, statuses = self.pod.spec.containers, self.pod.status.container_statuses
        first = containers[0].name if containers else ""
        found = next((status for status in statuses if status.name == first), statuses[0] if statuses else None)
        return found.state.terminated.exit_code if found is not None and found.state.terminated is not None else None

    @property
    def restarts(self) -> int:
        """How often its containers were started again."""
        return sum(status.restart_count for status in self.pod.status.container_statuses)

    @property
    def changed(self) -> float:
        """When it got into its phase, as far as its conditions show; seconds since the epoch."""
        times = [c.last_transition_time.timestamp() for c in self.pod.status.conditions if c.last_transition_time]
        return max(times, default=self.pod.metadata.created)


@dataclass(frozen=True)
class Members:
    """All pods of a job that it created itself, by what they are to it.

    `current`: of the job's version, within the replicas, not being deleted. `surplus`: beyond the replicas, or of a
    task that was taken out. `outdated`: of an earlier version. `leaving`: being deleted, whatever they were. `gone`:
    those that the scheduler evicted and that do not exist any more.
    """

    job: VolcanoJob
    current: Mapping[str, Mapping[int, Member]] = field(repr=False)
    surplus: Sequence[Member]
    outdated: Sequence[Member]
    leaving: Sequence[Member]
    gone: Sequence[Member] = ()

    @classmethod
    def of(cls, job: VolcanoJob, pods: Iterable[Pod], gone: Iterable[Pod] = ()) -> Members:
        """Pods are recognized by their names, which cannot change; those with other names are not the job's."""
        replicas = {task.name: task.replicas for task in job.spec.tasks}
        tasks = {f"{job.metadata.name}-{name}": name for name in replicas}
        current: dict[str, dict[int, Member]] = {task.name: {} for task in job.spec.tasks}
        surplus: list[Member] = []
        outdated: list[Member] = []
        leaving: list[Member] = []
        for pod in pods:
            member = _member(pod, job, tasks)
            if member is None:
                continue
            if member.deleted:
                leaving.append(member)
            elif member.version < job.status.version:
                outdated.append(member)
            elif member.index >= replicas.get(member.task, 0):
                surplus.append(member)
            else:
                current[member.task][member.index] = member
        evicted = [member for pod in gone if (member := _member(pod, job, tasks)) is not None]
        return cls(job, current, surplus, outdated, leaving, evicted)

    @property
    def all_current(self) -> Iterable[Member]:
        for members in self.current.values():
            yield from members.values()

    @property
    def alive(self) -> list[Member]:
        """Neither finished nor being deleted, of any version."""
        groups = (self.all_current, self.surplus, self.outdated)
        return [member for group in groups for member in group if not member.done]

    @cached_property
    def names(self) -> frozenset[str]:
        """Names that are taken."""
        groups = (self.all_current, self.surplus, self.outdated, self.leaving)
        return frozenset(member.name for group in groups for member in group)

    @cached_property
    def phases(self) -> Counter[str]:
        """Current pods by phase."""
        return Counter(member.phase for member in self.all_current)

    @cached_property
    def started(self) -> frozenset[str]:
        """Names of the tasks that have their minimum of pods up, or done."""
        return frozenset(
            task.name
            for task in self.job.spec.task_by_name.values()
            if sum(member.ready for member in self.current[task.name].values()) >= task.minimum
        )

    @cached_property
    def victims(self) -> Mapping[str, frozenset[int]]:
        """By task, numbers of pods of the job's version that the scheduler evicted: they are leaving, or gone."""
        found: dict[str, set[int]] = {}
        for member in (*self.leaving, *self.gone):
            if member.version >= self.job.status.version and is_victim(member.pod):
                found.setdefault(member.task, set()).add(member.index)
        return {task: frozenset(numbers) for task, numbers in found.items()}

    def letting_go(self, goes: Callable[[Member], bool]) -> Members:
        """The same when those of the current ones that `goes` is true for are being deleted."""
        stay = {
            task: {index: member for index, member in members.items() if not goes(member)}
            for task, members in self.current.items()
        }
        return replace(self, current=stay, leaving=[*self.leaving, *filter(goes, self.all_current)])

    def phases_of(self, task: str) -> Counter[str]:
        """Current pods of one task by phase."""
        return Counter(member.phase for member in self.current[task].values())

    def missing(self, task: Task) -> Iterator[int]:
        """Indices without a current pod, one after the other: of replicas one may ask for more than memory holds."""
        have = self.current[task.name]
        return (index for index in range(task.replicas) if index not in have)

    def is_short_of(self, task: Task) -> bool:
        """Whether any index has no current pod."""
        return len(self.current[task.name]) < task.replicas

    @property
    def on_their_way_out(self) -> int:
        """Pods that are being deleted or will be."""
        return len(self.leaving) + len(self.outdated)


def is_victim(pod: Pod) -> bool:
    """Whether the scheduler evicts the pod, which it writes before it deletes it.

    If it is not deleted after all, Kubernetes sets the condition to False two minutes later.
    """
    return any(
        (each.type, each.status, each.reason) == (DISRUPTION_TARGET, "True", PREEMPTION_BY_SCHEDULER)
        for each in pod.status.conditions
    )


def _member(pod: Pod, job: VolcanoJob, tasks: Mapping[str, str]) -> Member | None:
    """`tasks`: their names, by what the names of their pods begin with."""
    name, annotations = pod.metadata.name, pod.metadata.annotations
    prefix, _, number = name.rpartition("-")
    # Pods of a removed task carry its name themselves.
    task = tasks.get(prefix) or annotations.get(TASK_SPEC, "")
    if not (number.isascii() and number.isdigit()) or name != pod_name(job.metadata.name, task, int(number)):
        return None
    return Member(pod, task, int(number), _number(annotations.get(JOB_VERSION)))


def _number(text: str | None) -> int:
    """What the pod's annotation says; 0 for an unreadable one."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) <= 10 else 0
