"""A cluster in memory: objects in a dict, effects carried out at once, kubelets that take no time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from volcano_py.api import names
from volcano_py.api.devices.claims import ResourceClaim
from volcano_py.api.effects import (
    Bind,
    Effect,
    Event,
    Evict,
    OpenGate,
    PodCondition,
    PodGroupStatusUpdate,
    QueueAllocated,
    QueueConditions,
    ReleaseDevices,
)
from volcano_py.api.numa.topologies import NUMATOPOLOGY, Numatopology
from volcano_py.api.objects import ApiObject, Condition, Pod, PodGroup, PodGroupStatus, Queue, metadata_of
from volcano_py.cluster.memory_devices import MemoryDevices
from volcano_py.cluster.memory_numa import released
from volcano_py.cluster.memory_pods import MemoryPods
from volcano_py.cluster.memory_volumes import MemoryVolumes
from volcano_py.cluster.protocol import Sink

T = TypeVar("T", bound=ApiObject)


class Saved(msgspec.Struct, frozen=True):
    """How a cluster in memory stood at one moment."""

    objects: Mapping[str, Mapping[str, ApiObject]]
    binds: Mapping[str, str]
    evictions: Sequence[str]
    evicted: Mapping[str, Pod]
    leaving: Set[str]
    events: Sequence[Event]
    preparing: Mapping[str, Bind]


class MemoryCluster:
    """Holds objects by kind and key, passes every change to the sink, and carries out effects.

    Attributes:
        binds: namespace/name → node, of all bindings made.
        evictions: namespace/name of all evicted pods, in order.
        evict_effects: their evictions, which say why.
        events: all events, in order.
        evicted: the last state of evicted pods that are gone, by namespace/name, until there is one of that name again.
        changes: how often an object was changed or removed.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._objects: dict[str, dict[str, ApiObject]] = {}
        self.binds: dict[str, str] = {}
        self.evictions: list[str] = []
        self.evict_effects: list[Evict] = []
        self.evicted: dict[str, Pod] = {}
        self._leaving: set[str] = set()
        self.events: list[Event] = []
        self.changes = 0
        self._pods = MemoryPods()
        self._volumes = MemoryVolumes(self)
        self._devices = MemoryDevices(self)
        self._preparing: dict[str, Bind] = {}
        """Pods that are bound once their claims are, by UID."""
        self._unseen: dict[str, None] = {}
        self._unsettled: dict[str, None] = {}
        """Pods that have changed since the controllers, and the kubelets, looked last, by key."""

    def objects(self, kind: str, of: type[T]) -> list[T]:
        """All objects of a kind, in the order in which they came."""
        return [obj for obj in self._objects.get(kind, {}).values() if isinstance(obj, of)]

    def get(self, kind: str, key: str, of: type[T]) -> T | None:
        found = self._objects.get(kind, {}).get(key)
        return found if isinstance(found, of) else None

    def pods_of(self, group: str) -> list[Pod]:
        """The pods of a PodGroup (namespace/name); of "" those without one."""
        return [pod for pod in (self.get("Pod", key, Pod) for key in self._pods.members(group)) if pod is not None]

    def pods_with_own_claims(self) -> list[Pod]:
        """Pods with ephemeral volumes."""
        return [pod for pod in (self.get("Pod", key, Pod) for key in self._pods.with_own_claims) if pod is not None]

    def pods_with_claim_templates(self) -> list[Pod]:
        """Pods for which ResourceClaims are generated."""
        found = [self.get("Pod", key, Pod) for key in self._pods.with_claim_templates]
        return [pod for pod in found if pod is not None]

    def put(self, kind: str, obj: ApiObject) -> None:
        """Create or replace an object."""
        key = metadata_of(obj).key
        store = self._objects.setdefault(kind, {})
        if store.get(key) != obj:
            store[key] = obj
            self.changes += 1
            self._index(key, obj)
            self._sink.upsert(kind, obj)
        if kind == "Pod":
            self.evicted.pop(key, None)
            self._note(key)

    def remove(self, kind: str, key: str) -> None:
        gone = self._objects.get(kind, {}).pop(key, None)
        if gone is not None:
            self.changes += 1
            self._leave_out(key, gone)
            self._sink.delete(kind, gone)
            if isinstance(gone, Pod):
                self._release_cpus(gone)

    def _index(self, key: str, obj: ApiObject) -> None:
        """The object is found by what it belongs to."""
        if isinstance(obj, Pod):
            self._pods.put(key, obj)
        elif isinstance(obj, ResourceClaim):
            self._devices.index(obj)

    def _leave_out(self, key: str, obj: ApiObject) -> None:
        """The object is not found any more."""
        if isinstance(obj, Pod):
            self._pods.remove(key)
        elif isinstance(obj, ResourceClaim):
            self._devices.leave_out(obj)

    def let_go(self, pod: Pod) -> None:
        """The pod is being deleted: it is gone when the cluster settles next."""
        self._leaving.add(pod.metadata.uid)

    @property
    def pods_leave(self) -> bool:
        """Whether pods are being deleted that are gone when the cluster settles next."""
        return bool(self._leaving)

    def changed_pods(self) -> list[Pod]:
        """Pods that were put since this was asked last, and are still there."""
        unseen, self._unseen = self._unseen, {}
        found = (self.get("Pod", key, Pod) for key in unseen)
        return [pod for pod in found if pod is not None]

    def _note(self, pod: str) -> None:
        self._unseen[pod] = self._unsettled[pod] = None

    def saved(self) -> Saved:
        """How it stands, for `restore`."""
        return Saved(
            objects={kind: dict(store) for kind, store in self._objects.items()},
            binds=dict(self.binds),
            evictions=list(self.evictions),
            evicted=dict(self.evicted),
            leaving=set(self._leaving),
            events=list(self.events),
            preparing=dict(self._preparing),
        )

    def restore(self, saved: Saved) -> None:
        """All is as it was when that was saved; the sink is given what differs."""
        for kind, store in self._objects.items():
            before = saved.objects.get(kind, {})
            changed = [key for key, obj in store.items() if before.get(key) is not obj]
            for key in changed:
                if kind != "Queue" or key not in before:  # (with a queue, answers about all pods would be gone)
                    self._sink.delete(kind, store[key])
                self._leave_out(key, store[key])
            for key, obj in before.items():
                if store.get(key) is not obj:
                    self._sink.upsert(kind, obj)
                    self._index(key, obj)
                    if kind == "Pod":
                        self._note(key)
            self.changes += len(changed)
        self._objects = {kind: dict(store) for kind, store in saved.objects.items()}
        self.binds, self.evictions = dict(saved.binds), list(saved.evictions)
        self.evicted, self._leaving = dict(saved.evicted), set(saved.leaving)
        self.events, self._preparing = list(saved.events), dict(saved.preparing)

    def apply(self, effects: Sequence[Effect]) -> None:
        """Carry out what a cycle decided."""
        for effect in effects:
            if isinstance(effect, Bind):
                (self._prepare if effect.claims else self._bind)(effect)
            elif isinstance(effect, Evict):
                self._evict(effect)
            elif isinstance(effect, OpenGate):
                self._open_gate(effect)
            elif isinstance(effect, ReleaseDevices):
                self._devices.release(effect)
            elif isinstance(effect, PodCondition):
                self._write_condition(effect)
            elif isinstance(effect, PodGroupStatusUpdate):
                self._update_group(effect)
            elif isinstance(effect, QueueAllocated):
                self._update_queue(effect.queue, allocated=dict(effect.allocated))
            elif isinstance(effect, QueueConditions):
                self._update_queue(effect.queue.name, conditions=list(effect.conditions))
            else:
                self.events.append(effect)

    def settle(self, now: float | None = None) -> None:
        """What happens between cycles: claims get their volumes, bound pods run, evicted pods are gone, and so are
        their claims. Where `now` (seconds since the epoch) is given, pods say that they have started then."""
        self.provide_volumes()
        unsettled, self._unsettled = self._unsettled, {}
        for pod in (self.get("Pod", key, Pod) for key in unsettled):
            if pod is None:
                continue
            if pod.metadata.uid in self._leaving:
                self._leaving.remove(pod.metadata.uid)
                self.remove("Pod", pod.metadata.key)
                self.evicted[pod.metadata.key] = pod
            elif pod.spec.node_name and pod.status.phase == "Pending" and pod.metadata.deletion_timestamp is None:
                started = pod.status.start_time or (None if now is None else datetime.fromtimestamp(now, UTC))
                status = msgspec.structs.replace(
                    pod.status, phase="Running", start_time=started, conditions=_running(pod.status.conditions)
                )
                self.put("Pod", msgspec.structs.replace(pod, status=status))
        self.settle_devices()

    def settle_devices(self) -> None:
        """Run the controller of ResourceClaims."""
        self._devices.run()

    def provide_volumes(self) -> None:
        """Run the volume controllers; pods whose claims are bound by then are bound, too."""
        self._volumes.run()
        for bind in [bind for bind in self._preparing.values() if self._volumes.are_bound(bind)]:
            del self._preparing[bind.pod.uid]
            self._bind(bind)

    def _prepare(self, bind: Bind) -> None:
        self._volumes.decide(bind)
        self._preparing[bind.pod.uid] = bind

    def _bind(self, bind: Bind) -> None:
        if self._pod(bind.pod.key, bind.pod.uid) is not None:
            self._devices.reserve(bind)
        if (pod := self._pod(bind.pod.key, bind.pod.uid)) is not None:  # (its status may name another claim now)
            self.binds[bind.pod.key] = bind.node
            spec = msgspec.structs.replace(pod.spec, node_name=bind.node)
            annotations = {**pod.metadata.annotations, **bind.annotations, names.CHARGED_QUEUE: bind.queue}
            metadata = msgspec.structs.replace(pod.metadata, annotations=annotations)
            self.put("Pod", msgspec.structs.replace(pod, metadata=metadata, spec=spec))

    def _evict(self, evict: Evict) -> None:
        pod = self._pod(evict.pod.key, evict.pod.uid)
        if pod is not None:
            self.evictions.append(evict.pod.key)
            self.evict_effects.append(evict)
            self._leaving.add(evict.pod.uid)
            # when it happened does not matter: it is gone before the next cycle
            moment = pod.metadata.creation_timestamp or datetime.fromtimestamp(0, tz=UTC)
            metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=moment)
            status = msgspec.structs.replace(pod.status, conditions=_evicted(pod.status.conditions))
            self.put("Pod", msgspec.structs.replace(pod, metadata=metadata, status=status))

    def _release_cpus(self, gone: Pod) -> None:
        topology = self.get(NUMATOPOLOGY, gone.spec.node_name, Numatopology)
        if topology is not None:
            self.put(NUMATOPOLOGY, released(topology, gone))

    def _open_gate(self, effect: OpenGate) -> None:
        pod = self._pod(effect.pod.key, effect.pod.uid)
        if pod is not None:
            self.put("Pod", msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, scheduling_gates=[])))

    def _write_condition(self, update: PodCondition) -> None:
        pod = self._pod(update.pod.key, update.pod.uid)
        if pod is None:
            return
        condition = Condition(type=names.POD_SCHEDULED, status="False", reason=update.reason, message=update.message)
        others = [known for known in pod.status.conditions if known.type != names.POD_SCHEDULED]
        nominated = update.nominated_node or pod.status.nominated_node_name
        status = msgspec.structs.replace(pod.status, conditions=[*others, condition], nominated_node_name=nominated)
        self.put("Pod", msgspec.structs.replace(pod, status=status))

    def _update_group(self, update: PodGroupStatusUpdate) -> None:
        group = self.get("PodGroup", update.group.key, PodGroup)
        if group is not None:
            status = PodGroupStatus(
                phase=update.phase,
                conditions=list(update.conditions),
                running=update.running,
                succeeded=update.succeeded,
                failed=update.failed,
            )
            self.put("PodGroup", msgspec.structs.replace(group, status=status))

    def _update_queue(self, name: str, **fields: Any) -> None:
        queue = self.get("Queue", name, Queue)
        if queue is not None:
            status = msgspec.structs.replace(queue.status, **fields)
            self.put("Queue", msgspec.structs.replace(queue, status=status))

    def _pod(self, key: str, uid: str) -> Pod | None:
        pod = self.get("Pod", key, Pod)
        return pod if pod is not None and pod.metadata.uid == uid else None


def _running(conditions: Iterable[Condition]) -> list[Condition]:
    """A pod that runs no longer has the condition that says why it waits, and is ready at once."""
    others = [condition for condition in conditions if condition.type not in (names.POD_SCHEDULED, "Ready")]
    return [*others, Condition(type="Ready", status="True")]


def _evicted(conditions: Iterable[Condition]) -> list[Condition]:
    """What the scheduler writes before it deletes a pod."""
    others = [condition for condition in conditions if condition.type not in ("Ready", names.DISRUPTION_TARGET)]
    target = Condition(type=names.DISRUPTION_TARGET, status="True", reason=names.PREEMPTION_BY_SCHEDULER)
    return [*others, Condition(type="Ready", status="False", reason="Evict"), target]
