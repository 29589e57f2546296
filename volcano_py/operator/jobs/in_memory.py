"""The job controller of `simulate`: the same plan, carried out at once on a cluster in memory.

Why not the real `JobController`: it sends JSON, and works with timers and threads of an event loop. For it, `simulate`
would need an API server in memory with merge patches and status subresources, and an event loop of virtual time. That
is more code than this module, which keeps only what differs: how an action is carried out.

Nothing is created for a Job whose status has a refusal (`jobs.refusal`) with a cause that is not known here, such as a
quota, a missing ServiceAccount or a webhook: the live controller has tried. A change that may remove the cause takes
the refusal out of the status. All else goes on: pods that are there run and end, and the phase follows them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
import structlog

from volcano_py.admission.jobs import JobContext
from volcano_py.api.effects import Event, JsonObject, ObjectRef
from volcano_py.api.objects import Namespace, ObjectMeta, Pod, PodGroup, PriorityClass
from volcano_py.api.volumes import PersistentVolumeClaim
from volcano_py.cluster.manifests import VOLCANO_JOB, ManifestError, made
from volcano_py.cluster.memory import MemoryCluster
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
from volcano_py.jobs.model import JobPhase, JobSpec, JobStatus, VolcanoJob
from volcano_py.jobs.plan import World, plan
from volcano_py.jobs.plugins import BUILTIN, JobPlugins, PluginArgumentError
from volcano_py.jobs.refusal import Refusal, claim_missing, other_scheduler, unseen_refusal, with_refusal
from volcano_py.operator.jobs.problems import problem_with
from volcano_py.operator.podgroups.generated_group import GroupRules

log = structlog.get_logger(__name__)

_MOST_STEPS: Final = 100  # of one job at a time; its life is shorter
_GROUP: Final = "PodGroup"
_CLAIM: Final = "PersistentVolumeClaim"


class JobsInMemory:
    """Carries out the plans of the Jobs of a cluster in memory; objects of job plugins are left out."""

    def __init__(self, cluster: MemoryCluster, rules: GroupRules, plugins: JobPlugins | None = None) -> None:
        self._cluster = cluster
        name = min(rules.scheduler_names)
        self._rules = JobRules(
            scheduler_name=name, default_queue=rules.default_queue, scheduler_names=frozenset(rules.scheduler_names)
        )
        self._known_plugins = plugins
        self._prepared: set[str] = set()
        self._problems: dict[str, tuple[JobSpec, str]] = {}
        """uid → what is wrong with a spec."""
        self._made = 0
        self.look_again_at = 0.0
        """When something is due though nothing changes; 0: never."""

    @property
    def _plugins(self) -> JobPlugins:
        """Loaded with the first job: loading takes as long as a cycle of a small cluster."""
        if self._known_plugins is None:
            self._known_plugins = JobPlugins.of(BUILTIN).with_installed()
        return self._known_plugins

    def run(self, now: float) -> None:
        """Look at every job."""
        self.look_again_at = 0.0
        jobs = self._cluster.objects(VOLCANO_JOB, VolcanoJob)
        if not jobs:
            return
        pods = _by_owner(self._cluster.objects("Pod", Pod))
        evicted = _by_owner(self._cluster.evicted.values())
        for job in jobs:
            uid = job.metadata.uid
            self._one(job.metadata.key, pods.get(uid, []), evicted.get(uid, []), now)

    def _one(self, key: str, pods: list[Pod], evicted: list[Pod], now: float) -> None:
        for _ in range(_MOST_STEPS):
            job = self._cluster.get(VOLCANO_JOB, key, VolcanoJob)
            if job is None:
                return
            world = self._world(job, pods, evicted, now)
            next_ = plan(world)
            if next_.look_again_at:
                self.look_again_at = min(self.look_again_at or next_.look_again_at, next_.look_again_at)
            if next_.waiting is not None and next_.waiting.type == "Warning":
                self._record_event(job, next_.waiting.reason, next_.waiting.message)
            may_create = unseen_refusal(job.status.state) is None
            actions = [each for each in next_.actions if may_create or not isinstance(each, CREATING)]
            done = [self._carry_out(job, action, now) for action in actions]
            if not done or not all(done):
                return
            pods = [pod for pod in self._cluster.objects("Pod", Pod) if job.owns(pod.metadata)]

    def _world(self, job: VolcanoJob, pods: list[Pod], evicted: list[Pod], now: float) -> World:
        namespace = self._cluster.get("Namespace", job.metadata.namespace, Namespace)
        annotations = namespace.metadata.annotations if namespace is not None else {}
        written, job = job.spec, with_defaults(job, self._rules, annotations)
        try:
            plugins, problem = self._plugins.for_job(job), ""
        except PluginArgumentError as error:
            plugins, problem = (), str(error)
        problem = problem or self._problem(job, written)
        group, missing = names.group_name(job.metadata.name, job.metadata.uid), self._missing(job)
        return World(
            job=job,
            pods=pods,
            group=self._cluster.get(_GROUP, f"{job.metadata.namespace}/{group}", PodGroup),
            now=now,
            plugins=plugins,
            priorities={each.metadata.name: each.value for each in self._classes()},
            prepared=job.metadata.uid in self._prepared and missing is None,
            problem=problem,
            refused=unseen_refusal(job.status.state) or missing,
            other=other_scheduler(job, self._rules.scheduler_name, self._rules.scheduler_names),
            gone=evicted,
        )

    def _problem(self, job: VolcanoJob, written: JobSpec) -> str:
        """What is wrong with the job, worked out once for each spec as it is `written`. A job that has a phase when it
        is first seen has been checked where it comes from, and its status says so."""
        known, problem = self._problems.get(job.metadata.uid, (None, ""))
        if known is None and job.status.phase is not JobPhase.NEW:
            return ""
        if known is not written:
            context = JobContext(rules=self._rules, plugins=self._plugins)
            problem = problem_with(context, checks_templates=False)(job)
            self._problems[job.metadata.uid] = written, problem
        return problem

    def _classes(self) -> Iterable[PriorityClass]:
        return self._cluster.objects("PriorityClass", PriorityClass)

    def _carry_out(self, job: VolcanoJob, action: Action, now: float) -> bool:
        """Whether the job can continue."""
        cluster, namespace = self._cluster, job.metadata.namespace
        match action:
            case WriteStatus(status, decides):
                known = cluster.get(VOLCANO_JOB, job.metadata.key, VolcanoJob)
                if known is not None:
                    status = _still(known, status) if decides else status
                    cluster.put(VOLCANO_JOB, msgspec.structs.replace(known, status=status))
            case Prepare():
                return self._prepare(job, action, now)
            case CreateGroup(body):
                self._put(_GROUP, job, body, now)
            case UpdateGroup(name, _, changes):
                self._update_group(f"{namespace}/{name}", changes)
            case DeleteGroup(name, _):
                cluster.remove(_GROUP, f"{namespace}/{name}")
            case CreatePods(bodies):
                stored = [self._put("Pod", job, body, now) for body in bodies]
                return all(stored)
            case DeletePods(pods):
                for name, _ in pods:
                    cluster.remove("Pod", f"{namespace}/{name}")
            case DeleteJob():
                for pod in [pod for pod in cluster.objects("Pod", Pod) if job.owns(pod.metadata)]:
                    cluster.remove("Pod", pod.metadata.key)
                cluster.remove(VOLCANO_JOB, job.metadata.key)
        return True

    def _prepare(self, job: VolcanoJob, action: Prepare, now: float) -> bool:
        for claim in action.claims:
            self._put(_CLAIM, job, claim, now)
        if (missing := self._missing(job)) is not None:
            self._record_event(job, missing.reason, missing.message)
            return False
        self._prepared.add(job.metadata.uid)
        return True

    def _missing(self, job: VolcanoJob) -> Refusal | None:
        """The first claim that the job names and that does not exist."""
        namespace = job.metadata.namespace
        for name in (volume.volume_claim_name for volume in job.spec.volumes if volume.volume_claim_name):
            if self._cluster.get(_CLAIM, f"{namespace}/{name}", PersistentVolumeClaim) is None:
                return claim_missing(namespace, name)
        return None

    def _put(self, kind: str, job: VolcanoJob, body: JsonObject, now: float) -> bool:
        """Store what the job makes, unless there is one of that name; whether it can be read."""
        metadata: dict[str, Any] = {**body["metadata"]}
        if self._cluster.get(kind, f"{job.metadata.namespace}/{metadata['name']}", _type_of(kind)) is not None:
            return False
        self._made += 1
        metadata["uid"] = f"{kind.lower()}-{job.metadata.namespace}-{metadata['name']}-{self._made}"
        # What is created earlier is older, as with the order in a manifest.
        moment = datetime.fromtimestamp(now, UTC) + timedelta(microseconds=self._made)
        metadata["creationTimestamp"] = moment.isoformat()
        try:
            self._cluster.put(kind, made({**body, "metadata": metadata}, self._classes()))
        except ManifestError as error:
            self._record_event(job, names.FAILED_CREATE, str(error))
            return False
        return True

    def _update_group(self, key: str, changes: JsonObject) -> None:
        group = self._cluster.get(_GROUP, key, PodGroup)
        if group is not None:
            spec = {**msgspec.to_builtins(group.spec), **changes["spec"]}
            for name in ("minTaskMember", "minResources"):
                if name in changes["spec"]:
                    spec[name] = {each: amount for each, amount in spec[name].items() if amount is not None}
            spec = {name: value for name, value in spec.items() if value is not None}
            self._cluster.put(_GROUP, msgspec.structs.replace(group, spec=msgspec.convert(spec, type(group.spec))))

    def _record_event(self, job: VolcanoJob, reason: str, message: str) -> None:
        metadata: ObjectMeta = job.metadata
        about = ObjectRef("Job", metadata.namespace, metadata.name, metadata.uid)
        event = Event(about, "Warning", reason, message)
        if event not in self._cluster.events:
            self._cluster.events.append(event)
            # Events of a cluster in memory are not shown, and a Job without pods has no other place for its reason.
            log.warning("job waiting", job=metadata.key, reason=reason, message=message)


def _still(known: VolcanoJob, status: JobStatus) -> JobStatus:
    """The new status, with the refusal of the known one, which a new phase does not end."""
    refusal = unseen_refusal(known.status.state)
    return status if refusal is None else msgspec.structs.replace(status, state=with_refusal(status.state, refusal))


def _by_owner(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """UID of a controlling owner → its pods."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        if (owner := pod.metadata.controller) is not None:
            found.setdefault(owner.uid, []).append(pod)
    return found


def _type_of(kind: str) -> type[Pod] | type[PodGroup] | type[PersistentVolumeClaim]:
    """What objects of the kind are in memory."""
    types: dict[str, type[Pod] | type[PodGroup] | type[PersistentVolumeClaim]] = {
        "Pod": Pod,
        _GROUP: PodGroup,
        _CLAIM: PersistentVolumeClaim,
    }
    return types[kind]
