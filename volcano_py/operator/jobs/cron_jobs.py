"""The CronJob controller: creates a Volcano Job whenever one is due, and deletes those that have ended.

`jobs.crons.plan` decides what is due. A Job's name follows from its time. So a controller that was stopped between
creating the Job and writing the status finds it again, and a second controller is refused by the API server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
import structlog

from volcano_py.api.effects import JsonObject
from volcano_py.api.json_values import Reader
from volcano_py.api.objects import ApiObject, ObjectMeta
from volcano_py.cluster.kubernetes.http.errors import ConflictError, RequestError
from volcano_py.cluster.kubernetes.watching.kinds import CRON_JOB, VOLCANO_JOB
from volcano_py.cluster.kubernetes.watching.versions import is_older
from volcano_py.cluster.kubernetes.writing.turns import namespace_of
from volcano_py.jobs.crons.plan import (
    CREATED,
    CRON_KIND,
    DELETED,
    CronJob,
    CronPlan,
    job_for,
    job_name,
    owned_by,
    plan_cron,
)
from volcano_py.jobs.event_note import FOREIGN_JOB, EventNote
from volcano_py.jobs.model import BATCH_API, VolcanoJob
from volcano_py.jobs.names import FAILED_CREATE
from volcano_py.jobs.patches import merge_patch
from volcano_py.operator.controller import Controller
from volcano_py.operator.event_dedup import EventDeduplicator
from volcano_py.operator.jobs.jobs_by_owner import JobsByOwner, controller_key
from volcano_py.operator.kube_api import (
    IsActive,
    KubeApi,
    Learn,
    Record,
    created_or_found,
    delete_object,
    job_path,
    object_path,
    patch_status,
)

log = structlog.get_logger(__name__)

KINDS: Final = (CRON_JOB.name, VOLCANO_JOB.name)
"""The kinds to feed in."""

_WORKERS: Final = 8
# Seconds. Schedules follow the wall clock, which may be set; timers do not. After so long such a change is noticed.
_LOOK_AGAIN_WITHIN: Final = 60.0

_CRON_JOB: Final = Reader(CronJob)
_JOB: Final = Reader(VolcanoJob)


class CronJobController(Controller[str]):
    """A `Sink` for `KINDS`; `run` does the work.

    Without the Lease (`active`) it only keeps what it has seen. `now`: seconds since the epoch. `learn` is given the
    Jobs that answers show; by default this sink takes them as they come.
    """

    def __init__(
        self,
        api: KubeApi,
        *,
        active: IsActive,
        record: Record,
        learn: Learn | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__("cronjob", namespace_of, active=active, workers=_WORKERS)
        self._api, self._now = api, now
        self._learn = learn or self.upsert
        self._crons: dict[str, CronJob] = {}
        # By UID, the last time that was dealt with: a status that cannot be written for a while does not say so.
        self._dealt_with: dict[str, datetime] = {}
        self._jobs = JobsByOwner(controller_key(CRON_KIND, BATCH_API.partition("/")[0]), self._work.add)
        self._events = EventDeduplicator(CRON_KIND, record, self._is_there)

    # What is fed in.

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`Sink`: these are all there are of the kind."""
        if kind == VOLCANO_JOB.name:
            self._jobs.replace(obj for obj in objects if isinstance(obj, VolcanoJob))
            return
        if kind == CRON_JOB.name:
            keep = {obj.metadata.key for obj in objects if isinstance(obj, CronJob)}
            for gone in [cron for key, cron in self._crons.items() if key not in keep]:
                self._forget(gone)
            for obj in objects:
                self.upsert(kind, obj)

    def upsert(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`: new or changed."""
        match obj:
            case VolcanoJob():
                self._jobs.note(obj)
            case CronJob():
                self._note(obj)

    def delete(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`: gone."""
        match obj:
            case VolcanoJob():
                self._jobs.forget(obj.metadata)
            case CronJob():
                self._forget(obj)

    def _note(self, cron: CronJob) -> None:
        key = cron.metadata.key
        known = self._crons.get(key)
        if known is not None and (known == cron or is_older(cron.metadata, known.metadata)):
            return
        self._crons[key] = cron
        self._work.add(key)

    def _forget(self, cron: CronJob) -> None:
        if self._is_there(cron.metadata):
            del self._crons[cron.metadata.key]
            self._dealt_with.pop(cron.metadata.uid, None)
            self._events.forget(cron.metadata.uid)

    # The work.

    def _keys(self) -> Iterable[str]:
        return self._crons

    async def _reconcile(self, key: str) -> None:
        cron = self._crons.get(key)
        if cron is None:
            return
        made = self._plan(cron)
        self._events.record(cron.metadata, *made.events)
        for job in made.replaced:
            await self._delete(cron, job)
        if made.start is not None:
            try:
                await self._start(cron, made.start)
            except RequestError:
                await self._write_status(cron, made)
                raise
            # The status has to show the Job.
            made = self._plan(cron)
        await self._write_status(cron, made)
        for job in made.outdated:
            await self._delete(cron, job)
        self._look_again(key, made)

    def _plan(self, cron: CronJob) -> CronPlan:
        now, uid = datetime.fromtimestamp(self._now(), UTC), cron.metadata.uid
        times = (cron.status.last_schedule_time, self._dealt_with.get(uid))
        status = msgspec.structs.replace(cron.status, last_schedule_time=max(filter(None, times), default=None))
        known = msgspec.structs.replace(cron, status=status)
        made = plan_cron(known, owned_by(cron, self._jobs.of(cron.metadata.key)), now)
        if made.status.last_schedule_time is not None:
            self._note_dealt_with(cron, made.status.last_schedule_time)
        return made

    def _note_dealt_with(self, cron: CronJob, moment: datetime) -> None:
        if self._is_there(cron.metadata):
            self._dealt_with[cron.metadata.uid] = moment

    def _is_there(self, metadata: ObjectMeta) -> bool:
        """Whether the CronJob has not gone while an answer was waited for."""
        known = self._crons.get(metadata.key)
        return known is not None and known.metadata.uid == metadata.uid

    def _look_again(self, key: str, made: CronPlan) -> None:
        if made.look_again is not None:
            self._work.add(key, min(_LOOK_AGAIN_WITHIN, max(0.01, made.look_again.timestamp() - self._now())))

    def _job_for(self, cron: CronJob, moment: datetime) -> JsonObject:
        return job_for(cron, moment, owned_by(cron, self._jobs.of(cron.metadata.key)))

    async def _start(self, cron: CronJob, moment: datetime) -> None:
        """Create the Job for this time, unless a Job of another owner has its name."""
        name = job_name(cron, moment)
        path = job_path(cron.metadata.namespace, "")
        answer, created = await created_or_found(self._api, path, self._job_for(cron, moment))
        job = _JOB.decode(answer)
        if created:
            log.info("job created", cron_job=cron.metadata.key, job=name)
            self._events.record(cron.metadata, EventNote("Normal", CREATED, f"Job {name} was created", dedup_key=name))
        elif not owned_by(cron, [job]):
            message = (
                f"Job {name} exists but does not belong to this CronJob; delete it, or give the CronJob another name"
            )
            self._events.record(cron.metadata, EventNote("Warning", FOREIGN_JOB, message, dedup_key=name))
            return
        # It may have been deleted before the answer came; then no event will show it.
        self._note_dealt_with(cron, moment)
        self._learn(VOLCANO_JOB.name, job)

    async def _delete(self, cron: CronJob, job: VolcanoJob) -> None:
        name, uid = job.metadata.name, job.metadata.uid
        if await delete_object(self._api, job_path(job.metadata.namespace, name), uid):
            self._events.record(cron.metadata, EventNote("Normal", DELETED, f"Job {name} was deleted", dedup_key=uid))
        self._jobs.note_deleting(job)

    async def _write_status(self, cron: CronJob, made: CronPlan) -> None:
        changes = merge_patch(cron.status, made.status)
        if not changes:
            return
        metadata = cron.metadata
        path = object_path(BATCH_API, CRON_KIND, metadata.namespace, metadata.name)
        # On this version: an older view must never take the time back that was dealt with last.
        if not await patch_status(
            self._api, path, metadata, changes, lambda found: self._note(_CRON_JOB.decode(found))
        ):
            self._forget(cron)

    def _failed(self, key: str, error: Exception, failures: int) -> bool:
        """Always try again. A first conflict is not worth a line: the next try sees the newer object."""
        cron = self._crons.get(key)
        if cron is None:
            return False
        if failures == 1 and isinstance(error, ConflictError):
            return True
        logged = self._log_failure("CronJob reconciliation failed", error, failures, cron_job=key)
        if logged and isinstance(error, RequestError) and error.is_refusal:
            self._events.record(cron.metadata, EventNote("Warning", FAILED_CREATE, str(error)))
        return True
