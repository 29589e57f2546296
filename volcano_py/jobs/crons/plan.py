"""`batch.volcano.sh/v1alpha1`, kind `CronJob`: which Job is due, which to delete, and the status.

Everything follows from the object, from the Jobs it owns and from the time, so that it may be worked out again at any
moment. A Job's name has the minute for which it was created: there are never two for the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from volcano_py.api.effects import JsonObject
from volcano_py.api.go_values import parse_duration
from volcano_py.api.names import RUNNING_ESTIMATE
from volcano_py.api.objects import ApiObject, ObjectMeta
from volcano_py.jobs.crons.schedule import Schedule, ScheduleError, parse_schedule
from volcano_py.jobs.event_note import EventNote
from volcano_py.jobs.model import BATCH_API, FINISHED, JOB_KIND, JobPhase, VolcanoJob

CRON_KIND: Final = "CronJob"
SCHEDULED_AT: Final = "volcano.sh/cronjob-scheduled-timestamp"
"""Annotation of a Job: the time for which it was created."""

AS_EARLIER: Final = "as-earlier-jobs"
"""What the running estimate of the Job template says where it is to be what earlier Jobs took."""

MANY_MISSED: Final = 100
"""More missed times than this are reported, as in Kubernetes: clocks may differ."""
_SUCCESSFUL_KEPT: Final = 3  # as the CRD's defaults
_FAILED_KEPT: Final = 1
_LONG_AGO: Final = datetime.fromtimestamp(0, UTC)  # in all time zones a time that can be reckoned with

# Reasons of events, as far as Volcano has them.
CREATED: Final = "SuccessfulCreate"
DELETED: Final = "SuccessfulDelete"
FINISHED_JOB: Final = "SawCompletedJob"
FORBIDDEN: Final = "ForbidConcurrent"
REPLACING: Final = "ReplaceConcurrent"
MISSED: Final = "MissSchedule"
MANY_TIMES_MISSED: Final = "TooManyMissedTimes"
BAD_SCHEDULE: Final = "UnParseableCronJobSchedule"


class JobTemplateSpec(ApiObject, frozen=True):
    """What Jobs are created from; the spec stays as it was written."""

    metadata: ObjectMeta = ObjectMeta()
    spec: dict[str, Any] = {}


class CronJobSpec(ApiObject, frozen=True):
    schedule: str = ""
    time_zone: str | None = None
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = "Allow"
    suspend: bool | None = None
    job_template: JobTemplateSpec = JobTemplateSpec()
    successful_jobs_history_limit: int | None = None
    failed_jobs_history_limit: int | None = None


class JobReference(ApiObject, frozen=True):
    """A Job that runs."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class CronJobStatus(ApiObject, frozen=True):
    active: list[JobReference] = []
    last_schedule_time: datetime | None = None
    last_successful_time: datetime | None = None


class CronJob(ApiObject, frozen=True):
    """A Volcano CronJob."""

    metadata: ObjectMeta
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()


class CronPlan(msgspec.Struct, frozen=True):
    """What to do: delete `replaced`, then create the Job for the time `start`; write `status`, then delete
    `outdated`. `look_again`: the next time of the schedule.

    The status shows what exists. Once the Job is created, it has to be planned again.
    """

    status: CronJobStatus
    start: datetime | None = None
    replaced: tuple[VolcanoJob, ...] = ()
    outdated: tuple[VolcanoJob, ...] = ()
    events: tuple[EventNote, ...] = ()
    look_again: datetime | None = None


def owned_by(cron: CronJob, jobs: Iterable[VolcanoJob]) -> list[VolcanoJob]:
    """Those of the Jobs that were created for the CronJob, the oldest first."""
    return sorted(
        (job for job in jobs if (owner := job.metadata.controller) is not None and owner.uid == cron.metadata.uid),
        key=lambda job: (job.metadata.created, job.metadata.name),
    )


def plan_cron(cron: CronJob, jobs: Sequence[VolcanoJob], now: datetime) -> CronPlan:
    """What the CronJob needs at the time `now` (aware). `jobs` are those it owns."""
    if cron.metadata.deletion_timestamp is not None:
        return CronPlan(cron.status)  # the garbage collector takes its Jobs along
    events: list[EventNote] = [*_finished(cron, jobs)]
    last = cron.status.last_schedule_time
    due: datetime | None = None
    look_again: datetime | None = None
    try:
        schedule = _schedule(cron)
    except ScheduleError as error:
        events.append(EventNote("Warning", BAD_SCHEDULE, f"no Jobs are created: {error}", dedup_key=str(error)))
    else:
        look_again = schedule.next(now)
        due = schedule.latest(now, _considered_since(cron))
        if due is not None and any(job.metadata.name == job_name(cron, due) for job in jobs):
            last, due = due, None  # created before a restart, which then had no time to write it down
    running = [job for job in jobs if not _is_finished(job)]
    start, replaced, why = _decide(cron, running, due, now)
    events += why
    if start is not None:
        events += _many_missed(cron, schedule, start)
    return CronPlan(
        status=_status(cron, jobs, last),
        start=start,
        replaced=tuple(replaced),
        outdated=tuple(_outdated(cron, jobs)),
        events=tuple(events),
        look_again=look_again,
    )


def job_name(cron: CronJob, moment: datetime) -> str:
    """Name of the Job for this time: the minute since the epoch, as in Volcano and Kubernetes."""
    return f"{cron.metadata.name}-{int(moment.timestamp()) // 60}"


def job_for(cron: CronJob, moment: datetime, jobs: Sequence[VolcanoJob] = ()) -> JsonObject:
    """The Job for this time. `jobs` are those that it owns: what they took is how long this one will run, if the
    template says so."""
    template = cron.spec.job_template
    annotations = {**template.metadata.annotations}
    if annotations.get(RUNNING_ESTIMATE) == AS_EARLIER:
        del annotations[RUNNING_ESTIMATE]
        if (estimate := _taken_before(jobs)) is not None:
            annotations[RUNNING_ESTIMATE] = estimate
    zone = ZoneInfo(cron.spec.time_zone) if cron.spec.time_zone else UTC
    at = moment.astimezone(zone).isoformat().replace("+00:00", "Z")
    # `blockOwnerDeletion` is left out, because setting it needs rights on the owner's finalizers.
    owner = {
        "apiVersion": BATCH_API,
        "kind": CRON_KIND,
        "name": cron.metadata.name,
        "uid": cron.metadata.uid,
        "controller": True,
    }
    return {
        "apiVersion": BATCH_API,
        "kind": JOB_KIND,
        "metadata": {
            "name": job_name(cron, moment),
            "namespace": cron.metadata.namespace,
            "labels": dict(template.metadata.labels),
            "annotations": {**annotations, SCHEDULED_AT: at},
            "ownerReferences": [owner],
        },
        "spec": template.spec,
    }


def _taken_before(jobs: Iterable[VolcanoJob]) -> str | None:
    """The longest time that a Job took which completed; None when none has."""
    taken: list[tuple[timedelta, str]] = []
    for job in jobs:
        text = job.status.running_duration
        if job.status.phase is JobPhase.COMPLETED and text:
            with suppress(ValueError):
                taken.append((parse_duration(text), text))
    return max(taken)[1] if taken else None


def problem_of(cron: CronJob) -> str:
    """Why no Job is created for the CronJob: its schedule or time zone cannot be used; "" if they can."""
    try:
        _schedule(cron)
    except ScheduleError as error:
        return str(error)
    return ""


def next_run(cron: CronJob, now: datetime) -> datetime | None:
    """The first time after `now` (aware) for which the schedule has a Job; None where there is none, or the CronJob is
    suspended, being deleted, or cannot be used."""
    if cron.spec.suspend or cron.metadata.deletion_timestamp is not None:
        return None
    try:
        return _schedule(cron).next(now)
    except ScheduleError:
        return None


def _schedule(cron: CronJob) -> Schedule:
    return parse_schedule(cron.spec.schedule, cron.spec.time_zone, cron.metadata.creation_timestamp or _LONG_AGO)


def _considered_since(cron: CronJob) -> datetime:
    """Times up to this one have been dealt with, or were before there was a CronJob."""
    return max(_LONG_AGO, cron.status.last_schedule_time or cron.metadata.creation_timestamp or _LONG_AGO)


def _decide(
    cron: CronJob, running: Sequence[VolcanoJob], due: datetime | None, now: datetime
) -> tuple[datetime | None, list[VolcanoJob], list[EventNote]]:
    """The time of the Job to start (None: none), the Jobs that it replaces, and events."""
    if due is None or cron.spec.suspend:
        return None, [], []
    at = due.isoformat().replace("+00:00", "Z")
    deadline = cron.spec.starting_deadline_seconds
    if deadline is not None and (now - due).total_seconds() > deadline:
        message = f"the Job for {at} was not started within {deadline} s (spec.startingDeadlineSeconds)"
        return None, [], [EventNote("Warning", MISSED, message, dedup_key=at)]
    if running and cron.spec.concurrency_policy == "Forbid":
        message = f"the Job for {at} waits until {_names(running)} has finished (spec.concurrencyPolicy is Forbid)"
        return None, [], [EventNote("Normal", FORBIDDEN, message, dedup_key=at)]
    if running and cron.spec.concurrency_policy == "Replace":
        message = f"the Job for {at} replaces {_names(running)} (spec.concurrencyPolicy is Replace)"
        replaced = [job for job in running if job.metadata.deletion_timestamp is None]
        return due, replaced, [EventNote("Normal", REPLACING, message, dedup_key=at)]
    return due, [], []


def _many_missed(cron: CronJob, schedule: Schedule, start: datetime) -> list[EventNote]:
    missed = schedule.count(_considered_since(cron), start, MANY_MISSED + 1) - 1
    if missed < MANY_MISSED:
        return []
    message = (
        f"{MANY_MISSED} or more start times were missed, only the Job for the latest is created; check for clock "
        "skew, or set spec.startingDeadlineSeconds"
    )
    return [EventNote("Warning", MANY_TIMES_MISSED, message)]


def _names(jobs: Sequence[VolcanoJob]) -> str:
    names = [f"Job {job.metadata.name}" for job in jobs]
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _is_finished(job: VolcanoJob) -> bool:
    return job.status.phase in FINISHED


def _finished(cron: CronJob, jobs: Sequence[VolcanoJob]) -> list[EventNote]:
    """Jobs that the status still has as running and that are not."""
    by_uid = {job.metadata.uid: job for job in jobs}
    found = (by_uid.get(reference.uid) for reference in cron.status.active)
    return [
        EventNote(
            "Normal",
            FINISHED_JOB,
            f"Job {job.metadata.name} has finished: {job.status.phase}",
            dedup_key=job.metadata.uid,
        )
        for job in found
        if job is not None and _is_finished(job)
    ]


def _status(cron: CronJob, jobs: Sequence[VolcanoJob], last: datetime | None) -> CronJobStatus:
    successes = [
        job.status.state.last_transition_time
        for job in jobs
        if job.status.phase is JobPhase.COMPLETED and job.status.state.last_transition_time is not None
    ]
    if cron.status.last_successful_time is not None:
        successes.append(cron.status.last_successful_time)
    # As in the status already: the version is that of the first look, and not worth a write of its own.
    known = {each.uid: each for each in cron.status.active}
    return CronJobStatus(
        active=[known.get(job.metadata.uid) or _reference(job) for job in jobs if not _is_finished(job)],
        last_schedule_time=last,
        last_successful_time=max(successes, default=None),
    )


def _reference(job: VolcanoJob) -> JobReference:
    return JobReference(
        api_version=BATCH_API,
        kind=JOB_KIND,
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        uid=job.metadata.uid,
        resource_version=job.metadata.resource_version,
    )


def _outdated(cron: CronJob, jobs: Sequence[VolcanoJob]) -> list[VolcanoJob]:
    """Finished Jobs beyond the numbers to be kept; the newest are kept."""
    spec = cron.spec
    succeeded = [job for job in jobs if job.status.phase is JobPhase.COMPLETED]
    failed = [job for job in jobs if _is_finished(job) and job.status.phase is not JobPhase.COMPLETED]
    surplus = [
        *_beyond(succeeded, spec.successful_jobs_history_limit, _SUCCESSFUL_KEPT),
        *_beyond(failed, spec.failed_jobs_history_limit, _FAILED_KEPT),
    ]
    return [job for job in surplus if job.metadata.deletion_timestamp is None]


def _beyond(jobs: Sequence[VolcanoJob], limit: int | None, default: int) -> Sequence[VolcanoJob]:
    kept = default if limit is None else max(0, limit)
    return jobs[: max(0, len(jobs) - kept)]
