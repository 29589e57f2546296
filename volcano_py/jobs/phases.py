"""The state machine of a Job: from its phase, an action and the counts of its pods, the next phase. Pure tables."""

from __future__ import annotations

from typing import Final

import msgspec

from volcano_py.jobs.members import Members
from volcano_py.jobs.model import FINISHED, JobAction, JobPhase, VolcanoJob
from volcano_py.jobs.policies.evaluation import TARGETED

_STOPPING: Final = {
    JobAction.ABORT: JobPhase.ABORTING,
    JobAction.TERMINATE: JobPhase.TERMINATING,
    JobAction.COMPLETE: JobPhase.COMPLETING,
}
_STOPPED: Final = {
    JobPhase.ABORTING: JobPhase.ABORTED,
    JobPhase.TERMINATING: JobPhase.TERMINATED,
    JobPhase.COMPLETING: JobPhase.COMPLETED,
}

ACTIVE: Final = frozenset({JobPhase.PENDING, JobPhase.RUNNING})
"""Phases in which pods are created."""

WITHOUT_GROUP: Final = FINISHED | {
    JobPhase.ABORTING,
    JobPhase.ABORTED,
    JobPhase.TERMINATING,
    JobPhase.COMPLETING,
}
"""Phases in which nothing may be scheduled: pods that have not finished are deleted, and the PodGroup with them."""


class Step(msgspec.Struct, frozen=True):
    """The job goes into `phase`.

    `retries`: it counts as one more try. `restarts_all`: every pod is deleted, and a new version of all is created.
    `targeted`: only the part that the action is about is deleted. `reason` is the requested action, if any; `why` is
    for people.
    """

    phase: JobPhase
    reason: str = ""
    why: str = ""
    retries: bool = False
    restarts_all: bool = False
    targeted: bool = False


def asked_for(job: VolcanoJob, action: JobAction, *, counts: bool = True) -> Step | None:
    """Where a Command or a policy takes the job; None when the action means nothing in its phase.

    `counts`: whether a restart counts as one more try.
    """
    phase = job.status.phase
    # A job that no controller has seen yet is about to be Pending.
    if phase in ACTIVE or phase is JobPhase.NEW:
        if action in _STOPPING:
            return Step(_STOPPING[action])
        if action is JobAction.RESTART_JOB:
            return _restart(job, counts=counts)
        if action in TARGETED:
            return Step(JobPhase.RESTARTING, retries=counts, targeted=True)
    if phase in (JobPhase.ABORTING, JobPhase.ABORTED) and action is JobAction.RESUME:
        return _restart(job, counts=True)
    return None


def has_to_wait(job: VolcanoJob, action: JobAction) -> bool:
    """Whether a Command stops a job that is being restarted: if it did not wait, the job would continue after it."""
    return job.status.phase is JobPhase.RESTARTING and action in _STOPPING


def _restart(job: VolcanoJob, *, counts: bool) -> Step:
    """At its last try what has finished is kept, so that its owner can see why it failed."""
    return Step(JobPhase.RESTARTING, retries=counts, restarts_all=not (counts and has_no_try_left(job)))


def has_no_try_left(job: VolcanoJob) -> bool:
    """Whether one more try reaches `maxRetry`: it would not be carried out, and the job would be Failed."""
    return job.status.retry_count >= job.spec.max_retry - 1


def by_itself(job: VolcanoJob, members: Members) -> Step | None:
    """The next phase that follows from the pods alone, without a request."""
    phase = job.status.phase
    if phase is JobPhase.NEW:
        return Step(JobPhase.PENDING)
    if phase is JobPhase.PENDING:
        return _pending(job, members)
    if phase is JobPhase.RUNNING:
        return _running(job, members)
    if phase is JobPhase.RESTARTING:
        return _restarting(job, members)
    if phase in _STOPPED and not members.alive and not members.leaving:
        state = job.status.state
        return Step(_STOPPED[phase], reason=state.reason, why=state.message)
    return None


def _pending(job: VolcanoJob, members: Members) -> Step | None:
    phases = members.phases
    started = phases["Running"] + phases["Succeeded"] + phases["Failed"]
    if job.spec.min_available <= started:
        return Step(JobPhase.RUNNING)
    return None


def _running(job: VolcanoJob, members: Members) -> Step | None:
    phases, total = members.phases, job.replicas
    succeeded, failed = phases["Succeeded"], phases["Failed"]
    if total == 0:
        return None
    enough = job.spec.min_success
    if enough is not None and succeeded >= enough:
        return Step(JobPhase.COMPLETED, why=f"{succeeded} pods have succeeded, minSuccess is {enough}")
    if succeeded + failed == total:
        return _all_done(job, members, succeeded)
    if phases["Pending"] > total - job.spec.min_available:
        return Step(JobPhase.PENDING, why=f"{phases['Pending']} pods are pending, so fewer than minAvailable can run")
    return None


def _all_done(job: VolcanoJob, members: Members, succeeded: int) -> Step:
    spec = job.spec
    if spec.min_available >= sum(task.minimum for task in spec.tasks):
        for task in spec.tasks:
            count = members.phases_of(task.name)["Succeeded"]
            if count < task.minimum:
                why = f"{count} pods of task {task.name} have succeeded, its minAvailable is {task.minimum}"
                return Step(JobPhase.FAILED, why=why)
    if spec.min_success is not None:
        return Step(JobPhase.FAILED, why=f"{succeeded} pods have succeeded, minSuccess is {spec.min_success}")
    if succeeded >= spec.min_available:
        return Step(JobPhase.COMPLETED)
    return Step(JobPhase.FAILED, why=f"{succeeded} pods have succeeded, minAvailable is {spec.min_available}")


def _restarting(job: VolcanoJob, members: Members) -> Step | None:
    if retries_exhausted(job):
        count = _ordinal(job.status.retry_count)
        return Step(JobPhase.FAILED, why=f"it would have been restarted for the {count} time (maxRetry)")
    # A job that asks for more pods than it has gets that reported when its pods are due.
    if job.replicas - members.on_their_way_out >= min(job.spec.min_available, job.replicas):
        return Step(JobPhase.PENDING)
    return None


def retries_exhausted(job: VolcanoJob) -> bool:
    """Whether the restart that was decided is not to be carried out: what has finished is kept."""
    return job.status.retry_count >= job.spec.max_retry


def _ordinal(number: int) -> str:
    if 10 <= number % 100 <= 20:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
