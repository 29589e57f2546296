"""What has happened to a Job, and what its policies do about it.

Nothing here remembers: an event is read off the world as it is (a failed pod *is* the event PodFailed until it is
gone), so that one which came while no controller ran is not lost, and a restart of the controller repeats none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from volcano_py.jobs.members import Member, Members
from volcano_py.jobs.model import JobAction, JobEvent, Policy, Task, VolcanoJob
from volcano_py.jobs.names import pod_name
from volcano_py.jobs.policies.crashes import crash_note, failing_since

# What `*` stands for. Waiting is an event only for a policy that names it, with a timeout; an edit of the job is what
# its owner wants, no mishap.
_NOT_ANY: Final = frozenset({JobEvent.POD_PENDING, JobEvent.JOB_UPDATED})

TARGETED: Final = frozenset({JobAction.RESTART_TASK, JobAction.RESTART_POD, JobAction.RESTART_PARTITION})
"""Actions that restart a part of the job."""


class Occurrence(msgspec.Struct, frozen=True):
    """An event: of a pod (`index` within `task`), a task, or ("") the whole job.

    `since`: seconds since the epoch. `by_scheduler`: it follows from an eviction by the scheduler.
    """

    event: JobEvent
    task: str = ""
    index: int | None = None
    pod: str = ""
    exit_code: int | None = None
    since: float = 0.0
    by_scheduler: bool = False

    def __str__(self) -> str:
        where = f" of pod {self.pod}" if self.pod else f" of task {self.task}" if self.task else ""
        code = f", exit code {self.exit_code}" if self.exit_code is not None else ""
        by = " by the scheduler" if self.by_scheduler else ""
        return f"{self.event}{where}{code}{by}"


class Verdict(msgspec.Struct, frozen=True):
    """Carry out `action` because of `cause`."""

    action: JobAction
    cause: Occurrence


class Judgement(msgspec.Struct, frozen=True):
    """What policies ask for now, what is worse first; and when they will ask for more if nothing changes (0: never)."""

    verdicts: tuple[Verdict, ...] = ()
    look_again_at: float = 0.0


class Lost(msgspec.Struct, frozen=True):
    """A pod that was there and was deleted by another client, which may be the scheduler; `at` in seconds since the
    epoch."""

    task: str
    index: int
    at: float
    by_scheduler: bool = False


def judge(
    job: VolcanoJob,
    members: Members,
    *,
    now: float,
    group_phase: str = "",
    group_since: float = 0.0,
    lost: Sequence[Lost] = (),
    edited: float | None = None,
) -> Judgement:
    """What the policies say to everything that has happened.

    `group_since`: when the PodGroup got into its phase, in seconds since the epoch. `lost`: pods known to have been
    deleted whose loss is not settled yet; `edited`: when the spec was, if that is not answered yet.
    """
    later = 0.0
    verdicts = []
    for occurrence in _occurrences(job, members, (group_phase, group_since), lost, edited, now):
        policy = policy_for(job, occurrence)
        if policy is None:
            continue
        due = occurrence.since + policy.delay
        if due <= now:
            verdicts.append(Verdict(JobAction(policy.action), occurrence))
        else:
            later = min(later or due, due)
    return Judgement(tuple(verdicts), later)


def policy_for(job: VolcanoJob, occurrence: Occurrence) -> Policy | None:
    """The policy of the task, else of the job, for this event; unknown actions are ignored."""
    task, event = job.task(occurrence.task), occurrence.event
    events = (event,) if event in _NOT_ANY else (event, JobEvent.ANY)
    timed = event is JobEvent.POD_PENDING
    of_task = task.policy_table.first(events, occurrence.exit_code, timed=timed) if task is not None else None
    return of_task or job.spec.policy_table.first(events, occurrence.exit_code, timed=timed)


def timeout_of(job: VolcanoJob, occurrence: Occurrence) -> float:
    """Seconds for which the policy that speaks of this event waits; 0 when there is none."""
    policy = policy_for(job, occurrence)
    return policy.delay if policy is not None else 0.0


def crashes_noted(job: VolcanoJob, members: Members) -> Mapping[str, str]:
    """What the status is to note of tasks that have failed: those for which a policy waits."""
    noted: dict[str, str] = {}
    for task in job.spec.tasks:
        since = failing_since(job, task, members.current[task.name])
        if since is not None and timeout_of(job, Occurrence(JobEvent.TASK_FAILED, task.name)):
            noted.update(crash_note(task, since))
    return noted


def _occurrences(
    job: VolcanoJob, members: Members, group: tuple[str, float], lost: Sequence[Lost], edited: float | None, now: float
) -> Iterator[Occurrence]:
    """Everything that has happened and is not settled, what is worse first."""
    for task in job.spec.tasks:
        yield from failures(task, members.current[task.name])
    for task in job.spec.tasks:
        yield from _task_events(job, task, members.current[task.name])
    group_phase, group_since = group
    if group_phase == "Unknown":
        # What is incomplete while the scheduler evicts pods is so because of that.
        yield Occurrence(JobEvent.UNKNOWN, since=group_since, by_scheduler=any(loss.by_scheduler for loss in lost))
    for loss in lost:
        name = pod_name(job.metadata.name, loss.task, loss.index)
        yield Occurrence(JobEvent.POD_EVICTED, loss.task, loss.index, name, None, loss.at, loss.by_scheduler)
    if edited is not None:
        yield Occurrence(JobEvent.JOB_UPDATED, since=edited)
    for task in job.spec.tasks:
        for member in members.current[task.name].values():
            if member.phase == "Pending":
                created = member.pod.metadata.created or now
                yield Occurrence(JobEvent.POD_PENDING, task.name, member.index, member.name, None, created)


def failures(task: Task, members: Mapping[int, Member]) -> Iterator[Occurrence]:
    """The pods of the task that have failed. `members`: its current pods."""
    for index, member in sorted(members.items()):
        if member.phase == "Failed":
            code = member.exit_code
            yield Occurrence(JobEvent.POD_FAILED, task.name, index, member.name, code, member.changed)


def _task_events(job: VolcanoJob, task: Task, members: Mapping[int, Member]) -> Iterator[Occurrence]:
    if task.replicas and sum(member.phase == "Succeeded" for member in members.values()) == task.replicas:
        yield Occurrence(JobEvent.TASK_COMPLETED, task.name, since=max(m.changed for m in members.values()))
    if (since := failing_since(job, task, members)) is not None:
        yield Occurrence(JobEvent.TASK_FAILED, task.name, since=since)
