"""The JobFlow controller: creates the Jobs of a flow in their order, and keeps the status of flows and templates.

`jobs.flows.plan` decides the turn. A Job's name follows from the flow and the step, so a controller that was stopped
half-way finds what it has created.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
import structlog

from volcano_py.api.json_values import Reader
from volcano_py.api.objects import ApiObject, ObjectMeta
from volcano_py.cluster.kubernetes.http.errors import ConflictError, RequestError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.watching.kinds import JOB_FLOW, JOB_TEMPLATE, VOLCANO_JOB
from volcano_py.cluster.kubernetes.watching.versions import is_older
from volcano_py.cluster.kubernetes.writing.turns import namespace_of
from volcano_py.jobs.event_note import FOREIGN_JOB, EventNote
from volcano_py.jobs.flows.jobs import flow_job, flow_job_name, template_of
from volcano_py.jobs.flows.model import (
    FLOW_API,
    FLOW_KIND,
    TEMPLATE_KIND,
    JobFlow,
    JobTemplate,
    JobTemplateStatus,
    Step,
)
from volcano_py.jobs.flows.plan import CREATED, FlowPlan, PodProbe, owned_by, plan_flow
from volcano_py.jobs.model import FINISHED, VolcanoJob
from volcano_py.jobs.names import FAILED_CREATE
from volcano_py.jobs.patches import merge_patch
from volcano_py.operator.controller import Controller
from volcano_py.operator.event_dedup import EventDeduplicator
from volcano_py.operator.jobs.flow_probes import Prober
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
from volcano_py.operator.run_all import raise_first

log = structlog.get_logger(__name__)

KINDS: Final = (JOB_FLOW.name, JOB_TEMPLATE.name, VOLCANO_JOB.name)
"""The kinds to feed in."""

ASK_EVERY: Final = 5.0
"""Seconds between two questions to the same pods."""

_WORKERS: Final = 8
_MOST_STEPS: Final = 8  # in one turn; whatever comes after is the next turn's
_PAUSE: Final = 1.0  # seconds until then: if the steps of a flow form a loop, it must cost little

_FLOW: Final = Reader(JobFlow)
_TEMPLATE: Final = Reader(JobTemplate)
_JOB: Final = Reader(VolcanoJob)


class _Answers(msgspec.Struct):
    """What the pods of one flow have answered."""

    known: dict[PodProbe, bool] = msgspec.field(default_factory=dict)
    asked: float = float("-inf")


class JobFlowController(Controller[tuple[str, str]]):
    """A `Sink` for `KINDS`; `run` does the work.

    Without the Lease (`active`) it only keeps what it has seen. `now`: seconds since the epoch. `learn` is given the
    Jobs that answers show; by default this sink takes them as they come.
    """

    def __init__(
        self,
        api: KubeApi,
        prober: Prober,
        *,
        active: IsActive,
        record: Record,
        learn: Learn | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        # Keys are the kind and namespace/name.
        super().__init__("jobflow", lambda key: namespace_of(key[1]), active=active, workers=_WORKERS)
        self._api, self._prober, self._now = api, prober, now
        self._learn = learn or self.upsert
        self._flows: dict[str, JobFlow] = {}
        self._templates: dict[str, JobTemplate] = {}
        self._flows_by_template: dict[str, dict[str, None]] = {}  # namespace/name of a template → keys of flows
        group = FLOW_API.partition("/")[0]
        self._flow_of = controller_key(FLOW_KIND, group)
        self._jobs = JobsByOwner(self._flow_of, self._jobs_have_changed)
        self._made_from = JobsByOwner(_template_key, lambda key: self._work.add((TEMPLATE_KIND, key)))
        self._answers: dict[str, _Answers] = {}  # by UID of the flow
        # By UID of the flow and name: Jobs that have ended, as long as its status does not say so. They may go before
        # it can be written.
        self._ended: dict[str, dict[str, VolcanoJob]] = {}
        self._events = EventDeduplicator(FLOW_KIND, record, self._is_there)

    # What is fed in.

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`Sink`: these are all there are of the kind."""
        if kind == VOLCANO_JOB.name:
            jobs = [obj for obj in objects if isinstance(obj, VolcanoJob)]
            self._jobs.replace(jobs)
            self._made_from.replace(jobs)
            for job in jobs:
                self._remember_if_ended(job)
            for key in self._flows:
                self._work.add((FLOW_KIND, key))  # a name may have become free
            return
        known: Mapping[str, JobFlow | JobTemplate] = (
            self._flows if kind == JOB_FLOW.name else self._templates if kind == JOB_TEMPLATE.name else {}
        )
        keep = {obj.metadata.key for obj in objects if isinstance(obj, JobFlow | JobTemplate)}
        for gone in [obj for key, obj in known.items() if key not in keep]:
            self.delete(kind, gone)
        for obj in objects:
            self.upsert(kind, obj)

    def upsert(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`: new or changed."""
        match obj:
            case VolcanoJob():
                self._jobs.note(obj)
                self._made_from.note(obj)
                self._remember_if_ended(obj)
            case JobFlow():
                self._note_flow(obj)
            case JobTemplate():
                self._note_template(obj)

    def delete(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`: gone."""
        match obj:
            case VolcanoJob():
                self._jobs.forget(obj.metadata)
                self._made_from.forget(obj.metadata)
                self._name_is_free(obj.metadata.key)
            case JobFlow():
                self._forget_flow(obj.metadata)
            case JobTemplate():
                known = self._templates.get(obj.metadata.key)
                if known is not None and known.metadata.uid == obj.metadata.uid:
                    del self._templates[obj.metadata.key]

    def _note_flow(self, flow: JobFlow) -> None:
        key = flow.metadata.key
        known = self._flows.get(key)
        if known is None or (known != flow and not is_older(flow.metadata, known.metadata)):
            if known is not None:
                self._index_templates(known, remove=True)
            self._flows[key] = flow
            self._index_templates(flow)
            self._work.add((FLOW_KIND, key))

    def _forget_flow(self, metadata: ObjectMeta) -> None:
        if self._is_there(metadata):
            self._index_templates(self._flows.pop(metadata.key), remove=True)
            self._answers.pop(metadata.uid, None)
            self._ended.pop(metadata.uid, None)
            self._events.forget(metadata.uid)

    def _is_there(self, flow: ObjectMeta) -> bool:
        """Whether it has not gone while an answer was waited for."""
        known = self._flows.get(flow.key)
        return known is not None and known.metadata.uid == flow.uid

    def _jobs_have_changed(self, key: str) -> None:
        if key in self._flows:
            self._work.add((FLOW_KIND, key))

    def _remember_if_ended(self, job: VolcanoJob) -> None:
        """A Job that has ended counts for its flow, even if it is gone before the flow has its turn."""
        if job.status.phase not in FINISHED:
            return
        flow = self._flows.get(self._flow_of(job))
        if flow is not None and owned_by(flow, [job]):
            self._ended.setdefault(flow.metadata.uid, {})[job.metadata.name] = job

    def _name_is_free(self, job: str) -> None:
        """A Job (namespace/name) is gone, whatever its owner: a flow may want its name, `<flow>-<step>`."""
        parts = job.split("-")
        for key in ("-".join(parts[:count]) for count in range(1, len(parts))):
            if key in self._flows:
                self._work.add((FLOW_KIND, key))

    def _jobs_of(self, flow: JobFlow) -> dict[str, VolcanoJob]:
        """The flow's Jobs by name: those there are, and those that ended and went before its status could say so."""
        uid = flow.metadata.uid
        there = owned_by(flow, self._jobs.of(flow.metadata.key))
        known = {**self._ended.get(uid, {}), **there}
        said = {each.name: each.state for each in flow.status.job_status_list}
        self._ended[uid] = {
            name: job
            for name, job in known.items()
            if job.status.phase in FINISHED and said.get(name) != job.status.phase
        }
        return {**self._ended[uid], **there}

    def _note_template(self, template: JobTemplate) -> None:
        key = template.metadata.key
        known = self._templates.get(key)
        if known is not None and (known == template or is_older(template.metadata, known.metadata)):
            return
        self._templates[key] = template
        self._work.add((TEMPLATE_KIND, key))
        if known is None or known.metadata.uid != template.metadata.uid:
            self._template_has_come(template)

    def _template_has_come(self, template: JobTemplate) -> None:
        for key in self._flows_by_template.get(template.metadata.key, ()):
            self._work.add((FLOW_KIND, key))

    def _index_templates(self, flow: JobFlow, *, remove: bool = False) -> None:
        """Note which templates the flow uses, or that it uses them no more."""
        key, namespace = flow.metadata.key, flow.metadata.namespace
        for template in {f"{namespace}/{step.name}" for step in flow.spec.steps}:
            users = self._flows_by_template.setdefault(template, {})
            if remove:
                users.pop(key, None)
            else:
                users[key] = None
            if not users:
                del self._flows_by_template[template]

    # The work.

    def _keys(self) -> Iterable[tuple[str, str]]:
        return [*((FLOW_KIND, key) for key in self._flows), *((TEMPLATE_KIND, key) for key in self._templates)]

    async def _reconcile(self, key: tuple[str, str]) -> None:
        kind, name = key
        if kind == TEMPLATE_KIND:
            await self._reconcile_template(name)
        else:
            await self._reconcile_flow(name)

    async def _reconcile_template(self, key: str) -> None:
        template = self._templates.get(key)
        if template is None:
            return
        status = JobTemplateStatus(job_depends_on_list=sorted(job.metadata.name for job in self._made_from.of(key)))
        if status != template.status:
            await patch_status(
                self._api,
                _flow_path(TEMPLATE_KIND, template.metadata),
                template.metadata,
                {"jobDependsOnList": status.job_depends_on_list},
                lambda found: self._note_template(_TEMPLATE.decode(found)),
            )

    async def _reconcile_flow(self, key: str) -> None:
        for _ in range(_MOST_STEPS):
            flow = self._flows.get(key)
            if flow is None:
                return
            made = self._plan(flow)
            self._events.record(flow.metadata, *made.events)
            created, refusals = await self._create_all(flow, made)
            if created and not refusals:
                continue  # the status has to show these
            await self._write_status(flow, made)
            raise_first(refusals)
            # Only when the status says that they have completed: otherwise they would be created again.
            for job in made.remove:
                await self._delete(job)
            if not await self._ask(flow, made):
                return
        self._work.add((FLOW_KIND, key), _PAUSE)

    def _plan(self, flow: JobFlow) -> FlowPlan:
        namespace = flow.metadata.namespace
        names = [step.name for step in flow.spec.steps]
        templates = {name: self._templates[key] for name in names if (key := f"{namespace}/{name}") in self._templates}
        jobs = self._jobs_of(flow)
        answers = self._answers.get(flow.metadata.uid)
        now = datetime.fromtimestamp(self._now(), UTC).replace(microsecond=0)
        return plan_flow(flow, jobs, templates, answers.known if answers is not None else {}, now)

    async def _ask(self, flow: JobFlow, made: FlowPlan) -> bool:
        """Ask the pods what is still open, if it is time. Whether there are answers that may change the plan."""
        uid = flow.metadata.uid
        if not made.probes or not self._is_there(flow.metadata):
            self._answers.pop(uid, None)
            return False
        answers = self._answers.setdefault(uid, _Answers())
        wait = answers.asked + ASK_EVERY - self._now()
        if 0 < wait <= ASK_EVERY:
            self._work.add((FLOW_KIND, flow.metadata.key), wait)
            return False
        answers.asked = self._now()
        probes = sorted(made.probes, key=repr)
        held = await asyncio.gather(*(self._prober.holds(flow.metadata.namespace, probe) for probe in probes))
        answers.known.update(probe for probe in zip(probes, held, strict=True) if probe[1])
        if not any(held):
            self._work.add((FLOW_KIND, flow.metadata.key), ASK_EVERY)
        return any(held)

    async def _create_all(self, flow: JobFlow, made: FlowPlan) -> tuple[bool, list[BaseException]]:
        """Create the Jobs; one that is refused does not stop the others. Whether any exists, and the errors."""
        created, refusals = False, list[BaseException]()
        for step in made.create:
            try:
                created |= await self._create(flow, step)
            except RequestError as error:
                refusals.append(error)
            except msgspec.ValidationError as error:
                name = flow_job_name(flow, step.name)
                message = f"Job {name} cannot be read: {error}; correct its JobTemplate or its patch, and delete it"
                self._events.record(flow.metadata, EventNote("Warning", FAILED_CREATE, message, dedup_key=message))
                refusals.append(error)
        return created, refusals

    async def _create(self, flow: JobFlow, step: Step) -> bool:
        """Create the step's Job. Whether it exists; not if a Job of another owner has its name."""
        namespace, name = flow.metadata.namespace, flow_job_name(flow, step.name)
        body = flow_job(flow, step, self._templates[f"{namespace}/{step.name}"])
        answer, created = await created_or_found(self._api, job_path(namespace, ""), body)
        job = _JOB.decode(answer)
        if created:
            log.info("job created", job_flow=flow.metadata.key, job=name)
            self._events.record(
                flow.metadata, EventNote("Normal", CREATED, f"Job {name} was created", dedup_key=job.metadata.uid)
            )
        elif not owned_by(flow, [job]):
            message = (
                f"Job {name} exists but does not belong to this JobFlow; delete it, or give the JobFlow another name"
            )
            self._events.record(flow.metadata, EventNote("Warning", FOREIGN_JOB, message, dedup_key=job.metadata.uid))
            return False
        self._learn(VOLCANO_JOB.name, job)
        return True

    async def _delete(self, job: VolcanoJob) -> None:
        await delete_object(self._api, job_path(job.metadata.namespace, job.metadata.name), job.metadata.uid)
        self._jobs.note_deleting(job)

    async def _write_status(self, flow: JobFlow, made: FlowPlan) -> None:
        if changes := merge_patch(flow.status, made.status):
            await patch_status(
                self._api,
                _flow_path(FLOW_KIND, flow.metadata),
                flow.metadata,
                changes,
                lambda found: self._note_flow(_FLOW.decode(found)),
            )

    def _failed(self, key: tuple[str, str], error: Exception, failures: int) -> bool:
        """Always try again. A first conflict is not worth a line: the next try sees the newer object."""
        kind, name = key
        obj = self._flows.get(name) if kind == FLOW_KIND else self._templates.get(name)
        if obj is None:
            return False
        if failures == 1 and isinstance(error, ConflictError):
            return True
        logged = self._log_failure("JobFlow reconciliation failed", error, failures, kind=kind, object=name)
        if logged and kind == FLOW_KIND and isinstance(error, RequestError) and error.is_refusal:
            self._events.record(obj.metadata, EventNote("Warning", FAILED_CREATE, str(error)))
        return True


def _flow_path(kind: str, metadata: ObjectMeta) -> ApiPath:
    return object_path(FLOW_API, kind, metadata.namespace, metadata.name)


def _template_key(job: VolcanoJob) -> str:
    """namespace/name of the JobTemplate that the Job was created from."""
    namespace = job.metadata.namespace
    mark = template_of(job)
    own = f"{namespace}."
    return f"{namespace}/{mark.removeprefix(own)}" if mark.startswith(own) else ""
