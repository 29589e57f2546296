"""One CronJob: whether and when it creates its next Job, and the Jobs of it that run or wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from typing import Final

import msgspec

from volcano_py.api.objects import ObjectMeta, Pod
from volcano_py.api.workloads import Workload
from volcano_py.capture.model import CapturedEvent
from volcano_py.cluster.manifests import VOLCANO_JOB
from volcano_py.explain.history import Story, moment, no_story
from volcano_py.explain.model import CronJobExplanation, WorkloadExplanation
from volcano_py.explain.of_workload import explain_workload
from volcano_py.explain.target import ExplainError, missing
from volcano_py.explain.world import World
from volcano_py.jobs.crons.plan import CRON_KIND, CronJob, next_run, problem_of
from volcano_py.jobs.model import BATCH_API, FINISHED, VolcanoJob
from volcano_py.operator.podgroups.generated_group import is_live

CRON_APIS: Final[Mapping[str, tuple[str, ...]]] = {"cronjob": (BATCH_API, "batch/v1"), "cronjob.batch": ("batch/v1",)}
"""Kind → versions of the APIs in which it is looked for, in this order."""
MOST_JOBS: Final = 5
"""How many Jobs are explained, the oldest first."""

_VOLCANO: Final = BATCH_API.partition("/")[0]


class Cron(msgspec.Struct, frozen=True):
    """A CronJob, and the version of its API. Volcano's and Kubernetes' have the same fields."""

    api_version: str
    found: CronJob


def explain_cron_job(
    world: World,
    kind: str,
    name: str,
    cron: Cron | None,
    now: datetime,
    events: Sequence[CapturedEvent] = (),
    story: Story = no_story,
    *,
    decides: bool = True,
) -> CronJobExplanation:
    """`kind`: one of `CRON_APIS`. `name`: namespace/name. `cron`: None where it could not be read; its Jobs name it.
    `now`: the moment of the copy. The others as for a workload.

    Raises:
        ExplainError: there is no such CronJob.
    """
    jobs = list(_unfinished(world, kind, name, cron))
    if cron is None and not jobs:
        raise missing(kind, name)
    explained: list[WorkloadExplanation] = []
    notes: list[str] = []
    for of_job, job in jobs[:MOST_JOBS]:
        try:
            explained.append(explain_workload(world, of_job, job.key, events, story, decides=decides))
        except ExplainError as error:
            notes.append(str(error))
    return msgspec.structs.replace(
        _itself(name, cron, [job for _, job in jobs], now),
        notes=tuple(notes),
        jobs=tuple(explained),
        more=tuple(job.key for _, job in jobs[MOST_JOBS:]),
    )


def _itself(name: str, cron: Cron | None, jobs: Sequence[ObjectMeta], now: datetime) -> CronJobExplanation:
    if cron is None:
        return CronJobExplanation(name)
    found, problem = cron.found, problem_of(cron.found)
    following = next_run(found, now)
    last = found.status.last_schedule_time
    return CronJobExplanation(
        name,
        state=_state(found, problem),
        schedule=found.spec.schedule,
        time_zone=found.spec.time_zone or "",
        problem=problem,
        last=moment(last) if last is not None else "",
        next=moment(following) if following is not None else "",
        seconds=round((following - now).total_seconds()) if following is not None else 0,
        concurrency=_concurrency(found, jobs) if following is not None else "",
    )


def _state(cron: CronJob, problem: str) -> str:
    if cron.metadata.deletion_timestamp is not None:
        return "Deleting"
    return "Invalid" if problem else "Suspended" if cron.spec.suspend else "Active"


def _concurrency(cron: CronJob, running: Sequence[ObjectMeta]) -> str:
    """What the Jobs that have not finished mean for the next one."""
    policy = cron.spec.concurrency_policy
    if not running or policy not in ("Forbid", "Replace"):
        return ""
    names = f"Job {running[0].name}" if len(running) == 1 else f"{len(running)} Jobs"
    if policy == "Replace":
        return f"the next Job replaces {names} (spec.concurrencyPolicy is Replace)"
    has = "has" if len(running) == 1 else "have"
    return f"no Job is created as long as {names} {has} not finished (spec.concurrencyPolicy is Forbid)"


def _unfinished(world: World, kind: str, name: str, cron: Cron | None) -> Iterator[tuple[str, ObjectMeta]]:
    """Kind, for `explain`, and metadata of its Jobs that have not finished, the oldest first."""
    versions = CRON_APIS[kind] if cron is None else (cron.api_version,)
    uid = cron.found.metadata.uid if cron is not None else ""
    active = {job.uid for job in cron.found.status.active if job.uid} if cron is not None else set()
    for version in versions:
        group = version.partition("/")[0]
        jobs = _of_volcano(world) if group == _VOLCANO else _of_kubernetes(world, active)
        of_job = "job" if group == _VOLCANO else "job.batch"
        owned = (job for job in jobs if _owns(group, name, uid, job))
        for job in sorted(owned, key=lambda each: (each.created, each.name)):
            yield of_job, job


def _owns(group: str, name: str, uid: str, job: ObjectMeta) -> bool:
    owner = job.controller
    if owner is None or (owner.group, owner.kind, f"{job.namespace}/{owner.name}") != (group, CRON_KIND, name):
        return False
    return owner.uid == uid or not (owner.uid and uid)


def _of_volcano(world: World) -> Iterable[ObjectMeta]:
    return (job.metadata for job in world.captured(VOLCANO_JOB, VolcanoJob) if job.status.phase not in FINISHED)


def _of_kubernetes(world: World, active: Set[str]) -> Iterable[ObjectMeta]:
    """Those with pods that have not ended, and those whose UIDs the CronJob has in `status.active`: more is not known
    of a Job."""
    owners = (pod.metadata.controller for pod in world.captured("Pod", Pod) if is_live(pod))
    busy = {owner.uid for owner in owners if owner is not None and (owner.group, owner.kind) == ("batch", "Job")}
    return (job.metadata for job in world.captured("Job", Workload) if job.metadata.uid in busy | active)
