"""A cluster around the loop of cycles: what the scheduler sends is carried out or refused, sooner or later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Final, TypeVar

from tests.unit.daemon.cycling import Bench
from tests.unit.state.watched import deleted, on, with_meta, with_spec, with_status
from volcano_py.api.effects import (
    Bind,
    Effect,
    Evict,
    PodCondition,
    PodGroupStatusUpdate,
    QueueAllocated,
    QueueConditions,
)
from volcano_py.api.names import CHARGED_QUEUE, GROUP_NAME, POD_SCHEDULED
from volcano_py.api.objects import ApiObject, Condition, ObjectMeta, Pod, PodGroup, Queue, metadata_of
from volcano_py.api.volumes import (
    BIND_COMPLETED,
    ClaimReference,
    CsiVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
)
from volcano_py.api.workloads import PodDisruptionBudget
from volcano_py.cluster.kubernetes.http.errors import UnreachableError
from volcano_py.config import SchedulerConfiguration
from volcano_py.daemon.cycles import DECISIVE_PAUSE, Witness
from volcano_py.daemon.outcomes import OutcomeRecorder
from volcano_py.observe.metrics import Metrics
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.table.change import Change
from volcano_py.state.terms.selectors import selects

Object = TypeVar("Object", bound=ApiObject)

# Rounds in which all answers are given; far more than any of these clusters needs.
ENOUGH: Final = 200
DRIVER: Final = "disk.csi"
"""Makes volumes and attaches them."""
# Seconds in which nothing may happen before a cluster counts as being at rest. Statuses are written within one.
QUIET: Final = 2.0


class AnsweringCluster(Bench):
    """What is there, by kind and key, and what the scheduler has sent and is not answered yet.

    Pods of the PodGroups in `replaced` are made by a controller: once the group is admitted, and again when they go.
    """

    def __init__(
        self,
        rng: Random,
        configuration: SchedulerConfiguration,
        *,
        state: ClusterState | None = None,
        witness: Witness | None = None,
    ) -> None:
        super().__init__(state, witness)
        self.configuration = configuration
        # Equal nodes keep their order: with other luck a gang that needs room on several may find it, and no pod waits
        # for luck.
        self.loop._scheduler._seed = None
        self.objects: dict[tuple[str, str], ApiObject] = {}
        self.replaced: dict[str, list[Pod]] = {}
        self._rng = rng
        self._made = 0
        self._unanswered: list[Callable[[], None]] = []
        self._latest: dict[str, Effect] = {}
        """What was said last of an object's status: the writer drops what was said before and is not written yet."""
        self._outcomes = OutcomeRecorder(
            self.state, lambda _event: None, Metrics(per_job=False), clock=lambda: self.now
        )

    # -- what is there ---------------------------------------------------------------------------------------------

    def all(self, kind: type[Object]) -> list[Object]:
        return [obj for obj in self.objects.values() if isinstance(obj, kind)]

    def find(self, kind: type[Object], key: str) -> Object | None:
        found = self.objects.get((kind.__name__, key))
        return found if isinstance(found, kind) else None

    def new(self, obj: Object) -> Object:
        """The object as it is created now, under a UID of its own."""
        self._made += 1
        made: Object = with_meta(obj, uid=f"u{self._made}", creation_timestamp=self.clock.now())
        self.put(made)
        return made

    def put(self, *objects: ApiObject) -> None:
        for obj in objects:
            self.objects[type(obj).__name__, metadata_of(obj).key] = obj
        super().put(*objects)

    def remove(self, obj: ApiObject) -> None:
        if self.objects.pop((type(obj).__name__, metadata_of(obj).key), None) is not None:
            self.state.delete(type(obj).__name__, obj)

    def delete(self, pod: Pod) -> None:
        """Its containers are stopped first, if it has any."""
        if pod.spec.node_name and pod.status.phase == "Running":
            self.put(deleted(pod, self.clock.now()))
            self._unanswered.append(partial(self._gone, pod.metadata.key, pod.metadata.uid))
        else:
            self.remove(pod)

    # -- what the scheduler sends ------------------------------------------------------------------------------------

    def apply(self, effects: Sequence[Effect]) -> None:
        super().apply(effects)
        for effect in effects:
            if about := _about(effect):
                self._latest[about] = effect
            self._unanswered.append(partial(self._answer, effect))

    def _answer(self, effect: Effect) -> None:
        if (about := _about(effect)) and self._latest[about] is not effect:
            return
        match effect:
            case Bind():
                self._bind(effect)
            case Evict():
                self._evict(effect)
            case PodCondition():
                self._write_condition(effect)
            case PodGroupStatusUpdate():
                group = self.find(PodGroup, effect.group.key)
                if group is not None and group.metadata.uid == effect.group.uid:
                    counts = {"running": effect.running, "succeeded": effect.succeeded, "failed": effect.failed}
                    self.put(with_status(group, phase=effect.phase, conditions=[*effect.conditions], **counts))
            case QueueAllocated():
                queue = self.find(Queue, effect.queue)
                if queue is not None:
                    self.put(with_status(queue, allocated=dict(effect.allocated)))
            case QueueConditions():
                queue = self.find(Queue, effect.queue.name)
                if queue is not None:
                    self.put(with_status(queue, conditions=[*effect.conditions]))

    def _bind(self, bind: Bind) -> None:
        pod = self._pod(bind.pod.key, bind.pod.uid)
        is_gone = pod is None or pod.metadata.deletion_timestamp is not None
        if pod is None or is_gone or ("Node", bind.node) not in self.objects or self._refuses():
            self._outcomes.bind_failed(bind, UnreachableError("POST", "binding", "refused"), gone=is_gone)
            return
        self._bind_claims(bind)
        charged = with_meta(
            pod, annotations={**pod.metadata.annotations, **bind.annotations, CHARGED_QUEUE: bind.queue}
        )
        bound = with_spec(charged, node_name=bind.node)
        condition = Condition(type=POD_SCHEDULED, status="True", last_transition_time=self.clock.now())
        self.put(with_status(bound, conditions=[condition]))
        self._outcomes.bound(bind, 0.0)
        self._unanswered.append(partial(self._start, bind.pod.key, bind.pod.uid))

    def _bind_claims(self, bind: Bind) -> None:
        """The volumes that were chosen are bound; those that were not are made first."""
        for each in bind.claims:
            claim = self.find(PersistentVolumeClaim, each.claim.key)
            if claim is None:
                continue
            found = self.find(PersistentVolume, each.volume)
            volume = self.new(_made_for(claim, bind.node)) if found is None else found
            kept_for = ClaimReference(claim.metadata.namespace, claim.metadata.name, claim.metadata.uid)
            self.put(with_status(with_spec(volume, claim_ref=kept_for), phase="Bound"))
            bound_claim = with_spec(claim, volume_name=volume.metadata.name)
            marked = with_meta(bound_claim, annotations={BIND_COMPLETED: "yes"})
            self.put(with_status(marked, phase="Bound"))

    def _start(self, key: str, uid: str) -> None:
        pod = self._pod(key, uid)
        if pod is not None and pod.status.phase == "Pending":
            self.put(with_status(pod, phase="Running"))

    def _evict(self, evict: Evict) -> None:
        pod = self._pod(evict.pod.key, evict.pod.uid)
        if pod is not None and self._refuses():
            self._outcomes.evict_failed(evict, UnreachableError("DELETE", "pod", "refused"))
            return
        self._outcomes.evicted(evict)
        if pod is not None and pod.metadata.deletion_timestamp is None:
            self.put(deleted(pod, self.clock.now()))
            self._unanswered.append(partial(self._gone, evict.pod.key, evict.pod.uid))

    def _gone(self, key: str, uid: str) -> None:
        pod = self._pod(key, uid)
        if pod is not None:
            self.remove(pod)

    def _write_condition(self, reported: PodCondition) -> None:
        pod = self._pod(reported.pod.key, reported.pod.uid)
        if pod is None or pod.spec.node_name:
            return
        condition = Condition(type=POD_SCHEDULED, status="False", reason=reported.reason, message=reported.message)
        nominated = reported.nominated_node or pod.status.nominated_node_name
        self.put(with_status(pod, conditions=[condition], nominated_node_name=nominated))

    def _pod(self, key: str, uid: str) -> Pod | None:
        pod = self.find(Pod, key)
        return pod if pod is not None and pod.metadata.uid == uid else None

    def _refuses(self) -> bool:
        return self._rng.random() < 0.1

    # -- controllers -------------------------------------------------------------------------------------------------

    def _make_pods(self) -> bool:
        """Whether a pod was made."""
        made = self._made
        for key, wanted in self.replaced.items():
            group = self.find(PodGroup, key)
            if group is not None and group.status.phase not in ("", "Pending"):
                for pod in wanted:
                    if self.find(Pod, pod.metadata.key) is None:
                        self.new(pod)
        return self._made > made

    def _count_budgets(self) -> bool:
        """Whether a budget allows something else than before."""
        moved = False
        for budget in self.all(PodDisruptionBudget):
            selector = budget.spec.selector
            assert selector is not None
            running = [
                pod
                for pod in self.all(Pod)
                if pod.metadata.namespace == budget.metadata.namespace
                and pod.status.phase == "Running"
                and pod.metadata.deletion_timestamp is None
                and selects(selector, pod.metadata.labels)
            ]
            allowed = max(0, len(running) - int(budget.spec.min_available or 0))
            if allowed != budget.status.disruptions_allowed:
                self.put(with_status(budget, disruptions_allowed=allowed))
                moved = True
        return moved

    # -- time --------------------------------------------------------------------------------------------------------

    async def a_moment(self) -> None:
        """Time passes, and some of what is due is done, in any order."""
        await self.after(self._rng.choice([0.0, 0.005, 0.02, 0.3, 5.0]))
        due, self._unanswered = self._unanswered, []
        self._rng.shuffle(due)
        for answer in due:
            if self._rng.random() < 0.6:
                answer()
            else:
                self._unanswered.append(answer)
        if self._rng.random() < 0.5:
            self._make_pods()
            self._count_budgets()

    async def come_to_rest(self) -> None:
        """Everything is answered until nothing happens any more."""
        for _ in range(ENOUGH):
            due, self._unanswered = self._unanswered, []
            for answer in due:
                answer()
            moved = self._make_pods() | self._count_budgets()
            cycles = len(self.reports)
            if await self.after(QUIET) == cycles and not (due or moved or self._unanswered):
                return
        raise AssertionError(f"no rest; last sent: {self.sent[-8:]}")

    async def one_more_cycle(self) -> list[Effect]:
        """What a cycle sends that nothing has asked for."""
        self.sent.clear()
        self.wakeup.wake(Change.DECISION)
        await self.after(DECISIVE_PAUSE)
        return list(self.sent)


def _made_for(claim: PersistentVolumeClaim, node: str) -> PersistentVolume:
    """A volume that a provisioner makes for the claim of a pod on this node."""
    return PersistentVolume(
        metadata=ObjectMeta(name=f"for-{claim.metadata.namespace}-{claim.metadata.name}"),
        spec=PersistentVolumeSpec(
            capacity=claim.spec.resources.requests,
            access_modes=claim.spec.access_modes,
            storage_class_name=claim.class_name,
            csi=CsiVolumeSource(driver=DRIVER, volume_handle=node),
        ),
    )


def _about(effect: Effect) -> str:
    """Whose status the effect writes; "" when it writes none."""
    match effect:
        case PodCondition():
            return effect.pod.uid
        case PodGroupStatusUpdate():
            return effect.group.uid
        case QueueAllocated():
            return f"queue {effect.queue}"
        case QueueConditions():
            return f"conditions of queue {effect.queue.name}"
        case _:
            return ""


def group_of(pod: Pod) -> str:
    """The key of the pod's PodGroup."""
    return f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP_NAME, '')}"


def bound(pod: Pod, node: str) -> Pod:
    """The pod as others have placed it."""
    return on(pod, node, "Running")
