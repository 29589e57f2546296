"""The job controller: keeps every Volcano Job's pods, PodGroup and status as its state machine wants them.

It works on one job at a time: it asks `jobs.plan` for the next step, does it, and asks again until nothing is left.
`jobs.plan` decides; what has been done is seen in the cluster. So a controller may be killed at any step: the one that
starts in its place comes to the same end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import msgspec
import structlog

from volcano_py.api.effects import Event, ObjectRef
from volcano_py.api.objects import ApiObject, ObjectMeta, Pod, PodGroup
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.http.errors import RequestError, UnprocessableError
from volcano_py.cluster.kubernetes.writing.rest import Rest
from volcano_py.cluster.kubernetes.writing.sharing import Sharing
from volcano_py.cluster.kubernetes.writing.turns import namespace_of
from volcano_py.jobs import names
from volcano_py.jobs.actions import (
    CREATING,
    Action,
    CreateGroup,
    CreatePods,
    DeleteGroup,
    DeleteJob,
    DeletePods,
    Prepare,
    UpdateGroup,
    WriteStatus,
)
from volcano_py.jobs.defaults import JobRules, with_defaults
from volcano_py.jobs.event_note import EventNote
from volcano_py.jobs.model import JobAction, JobStatus, VolcanoJob
from volcano_py.jobs.phases import has_to_wait
from volcano_py.jobs.plan import Plan, Request, World, plan
from volcano_py.jobs.plugins import BUILTIN, JobPlugin, JobPlugins, PluginArgumentError
from volcano_py.jobs.refusal import REFUSED, Refusal, other_scheduler
from volcano_py.operator.controller import Controller
from volcano_py.operator.jobs.effects import JobEffects
from volcano_py.operator.jobs.index import JobIndex
from volcano_py.operator.jobs.memory import JobMemories, JobMemory, attempt_of
from volcano_py.operator.jobs.objects import NotReadyError, prepare
from volcano_py.operator.kube_api import IsActive, KubeApi, Learn, Record

log = structlog.get_logger(__name__)

WORKERS: Final = 8
"""Jobs of a namespace that are worked on at a time, or rest after it while other namespaces have Jobs, too."""
IN_FLIGHT: Final = 8
"""Pods of a namespace that are being created or deleted at a time. With 64 instead, an API server on two cores took a
fifth longer for 250 Jobs, and its watches showed all new pods seconds late, those of other namespaces too."""
MAX_REQUEUES: Final = 15
"""As Volcano's `--max-requeue-num`."""
INTERVAL: Final = 0.5
"""Seconds between two writes of a job's counts: while its pods start they change with each of them."""

_MOST_PLUGIN_WARNINGS: Final = 3  # events about arguments of one plugin; further ones come when these are fixed
_MOST_STEPS: Final = 64  # in one turn; a job that needs more continues in its next turn, after others had theirs
# Seconds until a job looks again for something that no watch reports; and until one that took all its steps continues,
# because its steps may form a loop.
_LOOK_AGAIN: Final = 5.0
# Seconds after its creation up to which a job may find Secrets of a deleted namesake: by then the garbage collector has
# taken them. Until then it tries to make its own each time it is twice as old.
_COLLECTED_WITHIN: Final = 600.0

Problem = Callable[[VolcanoJob], str]
"""What is wrong with a job as it is written, for clusters whose webhooks have not looked at it; "" for nothing."""


class _Request(msgspec.Struct, frozen=True):
    """What a Command asks for, until its job is found."""

    action: JobAction
    asked_by: str
    uid: str


class _There(msgspec.Struct, frozen=True):
    """What there is of a job, and (`gone`) what the scheduler has taken from it."""

    pods: Sequence[Pod]
    gone: Sequence[Pod]
    group: PodGroup | None


class JobController(Controller[str]):
    """A `Sink` for `jobs_index.KINDS`; `run` does the work.

    Without the Lease (`active`) it only keeps what it has seen.

    `now`: seconds since the epoch. `max_requeues`: how often a write that can never succeed is tried before the job is
    terminated; negative means forever. `pod_created` gets the seconds from a job to each of its pods.
    `learn` gets the objects that answers show; the default is this sink.
    """

    def __init__(
        self,
        api: KubeApi,
        *,
        active: IsActive,
        record: Record,
        learn: Learn | None = None,
        rules: JobRules | None = None,
        plugins: JobPlugins | None = None,
        problem: Problem = lambda job: "",  # noqa: ARG005 - the type's signature
        pod_created: Callable[[float], None] = lambda seconds: None,  # noqa: ARG005 - the type's signature
        now: Callable[[], float] = time.time,
        workers: int = WORKERS,
        in_flight: int = IN_FLIGHT,
        interval: float = INTERVAL,
        max_requeues: int = MAX_REQUEUES,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._sharing = Sharing(clock)
        rest = Rest(clock, sharing=self._sharing)
        super().__init__("job", namespace_of, active=active, workers=workers, rest=rest)
        self._api, self._record = api, record
        self._rules = rules or JobRules()
        self._plugins = plugins or JobPlugins.of(BUILTIN)
        self._problem, self._now = problem, now
        self._interval, self._max_requeues = interval, max_requeues
        self._index = JobIndex(self._work.add)
        self._effects = JobEffects(
            api,
            self._index,
            learn or self.upsert,
            in_flight=in_flight,
            pod_created=lambda job: pod_created(self._now() - job.metadata.created),
        )
        self._memories = JobMemories()
        self._requests: dict[str, list[_Request]] = {}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="large job")

    # What is fed in.

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`Sink`: these are all there are of the kind."""
        self._index.replace(kind, objects)

    def upsert(self, kind: str, obj: ApiObject) -> None:
        """`Sink`: new or changed."""
        self._index.upsert(kind, obj)

    def delete(self, kind: str, obj: ApiObject) -> None:
        """`Sink`: gone."""
        self._index.delete(kind, obj)

    def request(self, key: str, action: JobAction, asked_by: str, uid: str = "") -> None:
        """Do this with the job namespace/name, if it has this UID (or `uid` is empty)."""
        self._requests.setdefault(key, []).append(_Request(action, asked_by, uid))
        self._work.add(key)

    def _keys(self) -> Iterable[str]:
        return self._index.all_keys()

    # -- one job -------------------------------------------------------------------------------------------------------

    async def _reconcile(self, key: str) -> None:
        self._sharing.note((namespace_of(key),))
        for _ in range(_MOST_STEPS):
            if not self._active():
                return
            if key in self._requests:
                await self._take(key)
            found = await self._look(key)
            if found is None:
                return
            world, made = found
            memory = self._memories.of(world.job)
            if not made.actions:
                if world.request is not None:
                    self._consumed(world, memory)  # it has no effect in this phase, and hides what policies wait for
                    continue
                await self._settled(key, world, made, memory)
                return
            try:
                await self._carry_out_all(world, made, memory)
            except (RequestError, NotReadyError):
                await self._write_counts(key, world.job, memory)
                raise
        self._work.add(key, _LOOK_AGAIN)

    async def _take(self, key: str) -> None:
        """Hand the next request to its job, if it is its turn; a job that no watch has shown yet is read."""
        request = self._requests[key][0]
        job = self._index.job(key)
        if job is None or request.uid not in ("", job.metadata.uid):
            job = await self._effects.read(*key.split("/"))
        if job is None or request.uid not in ("", job.metadata.uid):
            log.info("job not found", job=key, asked_by=request.asked_by)
        elif has_to_wait(job, request.action):
            return  # the job is looked at again when its phase changes
        elif self._memories.of(job).request is not None:
            self._work.add(key)
            return
        else:
            self._record_event(
                job, EventNote("Normal", names.COMMAND_ISSUED, f"{request.action}, requested by {request.asked_by}")
            )
            self._memories.of(job).request = Request(request.action)
        del self._requests[key][0]
        if self._requests[key]:
            self._work.add(key)
        else:
            del self._requests[key]

    async def _carry_out_all(self, world: World, made: Plan, memory: JobMemory) -> None:
        for action in made.actions:
            if not await self._carry_out(world, action, memory):
                return  # the world has changed: plan again
        self._consumed(world, memory)
        if any(isinstance(action, CREATING) for action in made.actions):
            memory.refused = None
        for event in made.events:
            self._record_event(world.job, event)

    async def _settled(self, key: str, world: World, made: Plan, memory: JobMemory) -> None:
        waiting = made.waiting.message if made.waiting is not None else ""
        if made.waiting is not None and waiting != memory.waiting:
            self._record_event(world.job, made.waiting)
        memory.waiting = waiting
        if made.look_again_at:
            self._work.add(key, max(0.01, made.look_again_at - self._now()))
        await self._write_counts(key, world.job, memory)
        if memory.taken:
            if self._now() >= memory.make_again_at:
                await self._prepare(world.job, Prepare(objects=memory.taken), memory)
            self._work.add(key, max(0.01, memory.make_again_at - self._now()))

    def _consumed(self, world: World, memory: JobMemory) -> None:
        """What came from outside has been answered, unless something else has come meanwhile."""
        if memory.request is world.request:
            memory.request = None

    async def _write_counts(self, key: str, job: VolcanoJob, memory: JobMemory) -> None:
        counts, known = memory.counts, self._index.job(key)
        if counts is None or known is None or known.metadata.uid != job.metadata.uid:
            return
        if _decision(counts) != _decision(known.status):
            memory.counts = None  # another client has written
            self._work.add(key)
            return
        due = memory.written + self._interval - self._now()
        if 0 < due <= self._interval:
            self._work.add(key, due)
            return
        memory.counts = None
        if known.status == counts or await self._effects.write_status(known, counts, decides=False):
            memory.written = self._now()
        else:
            self._work.add(key)

    async def _carry_out(self, world: World, action: Action, memory: JobMemory) -> bool:
        """Whether it was done on what the plan had seen."""
        job, effects = world.job, self._effects
        if isinstance(action, DeleteGroup | DeletePods) and not await self._is_newest(job, memory):
            return False
        match action:
            case WriteStatus(status, decides=True):
                return await self._write_decision(job, status, memory)
            case WriteStatus(status):
                memory.counts = status
            case Prepare():
                await self._prepare(job, action, memory)
                memory.prepared = attempt_of(job)
            case CreateGroup():
                await effects.create_group(job, action)
            case UpdateGroup():
                await effects.update_group(job, action)
            case DeleteGroup():
                await effects.delete_group(job, action)
            case CreatePods():
                await effects.create_pods(job, action)
            case DeletePods():
                log.info("pods deleted", job=job.metadata.key, pods=len(action.pods), why=action.why)
                await effects.delete_pods(job, action)
            case DeleteJob():
                if not await effects.delete_job(job):
                    return False
                log.info("job deleted: ttlSecondsAfterFinished has passed", job=job.metadata.key)
        return True

    async def _write_decision(self, job: VolcanoJob, status: JobStatus, memory: JobMemory) -> bool:
        known = self._index.job(job.metadata.key)
        if known is None or known.metadata.uid != job.metadata.uid:
            return False
        memory.counts = None
        written = await self._effects.write_status(known, status, decides=True)
        if written:
            memory.written, memory.is_checked = self._now(), True
            if (before := job.status.state.phase) != status.state.phase:
                log.info("job phase changed", job=job.metadata.key, before=before, phase=status.state.phase)
        return written

    async def _is_newest(self, job: VolcanoJob, memory: JobMemory) -> bool:
        """Whether the job still is as the plan has seen it; asked once, before anything of a predecessor's is taken
        away: our watch may lag behind what that leader has seen."""
        if memory.is_checked:
            return True
        found = await self._effects.read_again(job)
        memory.is_checked = True
        return found is not None and found.metadata.resource_version == job.metadata.resource_version

    async def _prepare(self, job: VolcanoJob, wanted: Prepare, memory: JobMemory) -> None:
        tried = {kept.name for kept in wanted.objects}
        taken = await prepare(self._api, job, wanted)
        age = self._now() - job.metadata.created
        if age < _COLLECTED_WITHIN:
            memory.taken = (*taken, *(kept for kept in memory.taken if kept.name not in tried))
            memory.make_again_at = self._now() + max(1.0, age)
        else:
            memory.taken = ()

    async def _look(self, key: str) -> tuple[World, Plan] | None:
        """The job's world and what to do next; None when the job is gone, or should be looked at later.

        For a large job that takes long. It is worked out in a thread, so that the event loop has its turns meanwhile.
        If the job has changed by then, it gets its next turn after others had theirs.
        """
        job = self._index.job(key)
        if job is None:
            self._memories.forget(key)
            return None
        memory, pods = self._memories.of(job), self._index.pods_of(job)
        there = _There(pods, self._index.evicted_from(job), self._index.group_of(job))
        work = partial(self._work_out, job, there, memory)
        if not memory.is_large(job, len(pods)):
            return work()
        found = await asyncio.get_running_loop().run_in_executor(self._thread, work)
        if not self._active() or not _is_unchanged(job, self._index.job(key)):
            self._work.add(key)
            return None
        return found

    def _work_out(self, job: VolcanoJob, there: _There, memory: JobMemory) -> tuple[World, Plan]:
        world = self._world(job, there, memory)
        return world, plan(world)

    def _world(self, job: VolcanoJob, there: _There, memory: JobMemory) -> World:
        if (counts := memory.counts) is not None:
            if _decision(counts) == _decision(job.status):
                job = msgspec.structs.replace(job, status=counts)
            else:
                memory.counts = None
        job = with_defaults(job, self._rules, self._index.namespace_annotations(job.metadata.namespace))
        plugins, problem = self._plugins_of(job, memory)
        return World(
            job=job,
            pods=there.pods,
            group=there.group,
            now=self._now(),
            plugins=plugins,
            priorities=self._index.priorities,
            prepared=memory.prepared == attempt_of(job),
            problem=problem,
            refused=memory.refused,
            other=other_scheduler(job, self._rules.scheduler_name, self._rules.scheduler_names),
            request=memory.request,
            gone=there.gone,
        )

    def _plugins_of(self, job: VolcanoJob, memory: JobMemory) -> tuple[Sequence[JobPlugin], str]:
        """The job's plugins, and what is wrong with the job; worked out once for each version of its spec."""
        generation, plugins, problem = memory.plugins
        if generation != job.metadata.generation:
            try:
                plugins, problem = self._plugins.for_job(job), ""
            except PluginArgumentError as error:
                plugins, problem = (), str(error)
            for plugin in plugins:
                for warning in (*plugin.remarks(job), *plugin.warnings)[:_MOST_PLUGIN_WARNINGS]:
                    self._record_event(job, EventNote("Warning", names.PLUGIN_ERROR, warning))
            problem = problem or self._problem(job)
            memory.plugins = (job.metadata.generation, plugins, problem)
        return plugins, problem

    # -- failures and events -------------------------------------------------------------------------------------------

    def _failed(self, key: str, error: Exception, failures: int) -> bool:
        """Always try again; a write that can never succeed ends with the job being terminated."""
        job = self._index.job(key)
        if job is None:
            return True
        refused = isinstance(error, RequestError) and error.is_refusal
        if isinstance(error, NotReadyError):
            if error.reason and str(error) != self._memories.of(job).waiting:
                self._memories.of(job).waiting = str(error)
                self._record_event(job, EventNote("Warning", error.reason, str(error)))
            if (error.reason in REFUSED or error.reason == names.PVC_ERROR) and not error.passes:
                self._memories.of(job).refused = Refusal(error.reason, str(error))
            self._work.add(key, _LOOK_AGAIN)
            return False
        reason = _reason_of(error)
        if refused and reason in REFUSED:
            self._memories.of(job).refused = Refusal(reason, str(error))
        if self._log_failure("job reconciliation failed", error, failures, job=key) and refused:
            self._record_event(job, EventNote("Warning", reason, str(error)))
        if 0 <= self._max_requeues < failures and isinstance(error, UnprocessableError):
            why = f"failed {failures} times: {error}"
            self._memories.of(job).request = Request(JobAction.TERMINATE, why)
        return True

    def _record_event(self, job: VolcanoJob, note: EventNote) -> None:
        metadata = job.metadata
        about = ObjectRef("Job", metadata.namespace, metadata.name, metadata.uid)
        self._record(Event(about, note.type, note.reason, note.message))


def _is_unchanged(before: VolcanoJob, now: VolcanoJob | None) -> bool:
    return now is not None and _version(before.metadata) == _version(now.metadata)


def _version(metadata: ObjectMeta) -> tuple[object, ...]:
    return metadata.uid, metadata.resource_version, metadata.deletion_timestamp is None


def _decision(status: JobStatus) -> tuple[object, ...]:
    """What of a status is decided rather than counted."""
    return status.state.phase, status.version, status.retry_count


def _reason_of(error: Exception) -> str:
    path = getattr(error, "path", "")
    if "/podgroups" in path:
        return names.POD_GROUP_ERROR
    if path.endswith("/status"):
        return names.JOB_STATUS_ERROR
    return names.FAILED_DELETE if getattr(error, "verb", "") == "DELETE" else names.FAILED_CREATE
