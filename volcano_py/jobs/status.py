"""The status of a Job: the counts of its pods, and the history of its phases."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from volcano_py.api.go_values import format_duration
from volcano_py.jobs.members import Member, Members
from volcano_py.jobs.model import (
    FINISHED,
    JobAction,
    JobCondition,
    JobPhase,
    JobState,
    JobStatus,
    TaskState,
    VolcanoJob,
)
from volcano_py.jobs.phases import ACTIVE, Step
from volcano_py.jobs.pods import claim_name, partition_of
from volcano_py.jobs.policies.edits import NOTE, Edit
from volcano_py.jobs.policies.evaluation import Lost, Verdict, crashes_noted
from volcano_py.jobs.policies.losses import NOTE as LOSSES
from volcano_py.jobs.policies.losses import note_of
from volcano_py.jobs.refusal import LONGEST_MESSAGE, Refusal, refusal_of, with_refusal

TARGET: Final = "restarting"
"""Key in `controlledResources` that says which parts of the job are being restarted: the next controller finishes a
restart that was begun."""


def standing_refusal(job: VolcanoJob) -> Refusal | None:
    """Why the pods or the PodGroup that the job lacks cannot be created; None where they can, or it wants none."""
    return refusal_of(job.status.state) if job.status.phase in ACTIVE else None


def counted(
    job: VolcanoJob,
    members: Members,
    refusal: Refusal | None = None,
    edit: Edit | None = None,
    lost: Sequence[Lost] = (),
) -> JobStatus:
    """The status with everything that is counted brought up to date; `refusal` is why nothing more is created, `edit`
    what is noted of edits, `lost` the pods that have not come back yet."""
    phases = members.phases
    return msgspec.structs.replace(
        job.status,
        state=with_refusal(job.status.state, refusal),
        min_available=job.spec.min_available,
        task_status_count={
            task.name: TaskState(phase=dict(sorted(members.phases_of(task.name).items())))
            for task in job.spec.tasks
            if members.current[task.name]
        },
        pending=phases["Pending"],
        running=phases["Running"],
        succeeded=phases["Succeeded"],
        failed=phases["Failed"],
        unknown=phases["Unknown"],
        terminating=members.on_their_way_out,
        controlled_resources=_controlled(job, members, edit, lost),
    )


def stepped(
    job: VolcanoJob,
    members: Members,
    step: Step,
    now: float,
    target: str = "",
    edit: Edit | None = None,
    lost: Sequence[Lost] = (),
) -> JobStatus:
    """The status after a step. `target` is the part that is restarted; `edit` what is noted of edits, `lost` the pods
    that are still waited for."""
    if target:
        parts = target.split()
        members = members.letting_go(lambda member: is_target(parts, job, member))
    status = counted(job, members, edit=edit, lost=lost)
    moment = datetime.fromtimestamp(now, UTC).replace(microsecond=0)
    state = JobState(
        phase=step.phase.value, reason=step.reason, message=step.why[:LONGEST_MESSAGE], last_transition_time=moment
    )
    others = [condition for condition in status.conditions if condition.status != step.phase]
    controlled = {key: value for key, value in status.controlled_resources.items() if key != TARGET}
    if target:
        controlled[TARGET] = target
    status = msgspec.structs.replace(
        status,
        state=state,
        conditions=[*others, JobCondition(status=step.phase.value, last_transition_time=moment)],
        version=status.version + step.restarts_all,
        retry_count=status.retry_count + step.retries,
        controlled_resources=controlled,
    )
    if step.restarts_all:
        # None of the pods there are belongs to the new version.
        status = msgspec.structs.replace(
            status,
            task_status_count={}, pending=0, running=0, succeeded=0, failed=0, unknown=0,
            terminating=len(members.names),
        )  # fmt: skip
    if step.phase in FINISHED:
        status = msgspec.structs.replace(status, running_duration=_duration(job, moment))
    return status


def target_of(job: VolcanoJob, verdict: Verdict) -> str:
    """What a targeted restart is about: `pod/<task>/<index>`, `partition/<task>/<number>`, `task/<task>/`; "" when its
    cause says of no part that it was concerned."""
    cause, action = verdict.cause, verdict.action
    task = job.task(cause.task)
    if task is None:
        return ""
    if cause.index is not None:
        partition = partition_of(task, cause.index)
        if action is JobAction.RESTART_PARTITION and partition is not None:
            return f"partition/{task.name}/{partition}"
        if action is JobAction.RESTART_POD:
            return f"pod/{task.name}/{cause.index}"
    return f"task/{task.name}/"


def is_target(targets: Collection[str], job: VolcanoJob, member: Member) -> bool:
    """Whether the pod is of one of these parts (as `target_of` has them)."""
    task = job.task(member.task)
    partition = partition_of(task, member.index) if task is not None else None
    own = (f"pod/{member.task}/{member.index}", f"partition/{member.task}/{partition}", f"task/{member.task}/")
    return any(part in targets for part in own)


def _controlled(job: VolcanoJob, members: Members, edit: Edit | None, lost: Sequence[Lost]) -> dict[str, str]:
    """What was created for the job, as Volcano notes it (plugins, claims of volumes), and what is noted for later."""
    kept = {key: value for key, value in job.status.controlled_resources.items() if key == TARGET}
    if edit is not None:
        kept[NOTE] = str(edit)
    if note := note_of(job, lost):
        kept[LOSSES] = note
    kept |= crashes_noted(job, members)
    plugins = {f"plugin-{name}": name for name in job.spec.plugins}
    claims = [volume.volume_claim_name or claim_name(job, number) for number, volume in enumerate(job.spec.volumes)]
    return {**plugins, **{f"volume-pvc-{name}": name for name in claims}, **kept}


def _duration(job: VolcanoJob, end: datetime) -> str:
    """How long the job has been running, in Go's spelling; from when it ran last."""
    times = [
        condition.last_transition_time
        for condition in job.status.conditions
        if condition.status == JobPhase.RUNNING and condition.last_transition_time is not None
    ]
    return format_duration(max(end - times[-1], timedelta())) if times else ""
