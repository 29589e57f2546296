"""The podgroup controller: creates a PodGroup for pods that name none, and keeps it in step with their owner.

It works on one group at a time: creates the group when it is missing, brings it up to date, then writes its name on the
pods. Every step can be repeated, so that a restart half-way, a second replica or a lost answer only cost a request.
`generated_group` decides the steps; thanks to `assumed_groups` the scheduler does not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
import structlog

from volcano_py.api.effects import Event, ObjectRef
from volcano_py.api.json_values import Reader
from volcano_py.api.objects import ApiObject, Pod, PodGroup
from volcano_py.api.workloads import Workload
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.http.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    RequestError,
)
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.writing.rest import Rest
from volcano_py.cluster.kubernetes.writing.turns import Slots, namespace_of
from volcano_py.cluster.protocol import Sink
from volcano_py.operator.controller import Controller
from volcano_py.operator.kube_api import (
    IsActive,
    KubeApi,
    Record,
    created_or_found,
    delete_object,
    is_another_object,
    is_gone,
    owner_path,
    pod_group_path,
    pod_path,
)
from volcano_py.operator.podgroups.assumed_groups import AssumedGroups
from volcano_py.operator.podgroups.generated_group import (
    GroupPlan,
    GroupRules,
    group_as_json,
    group_changes,
    inheriting_owner,
    names_group,
    plan_group,
    pod_annotation,
    representative,
)
from volcano_py.operator.podgroups.index import PodGroupIndex
from volcano_py.operator.run_all import run_all

log = structlog.get_logger(__name__)

EVENT_REASON: Final = "PodGroupError"
WORKERS: Final = 4
"""Requests in flight of one namespace; with more, the API server only answers each of them later, and shows new pods
of all namespaces later."""

_CONFLICTS_BEFORE_GIVING_WAY: Final = 3

_POD: Final = Reader(Pod)
_POD_GROUP: Final = Reader(PodGroup)
_WORKLOAD: Final = Reader(Workload)


class Delays(msgspec.Struct, frozen=True):
    """Seconds before something is written that the scheduler has been shown already.

    By `group` and `name`, the least for a PodGroup and for its name on a pod, most pods are bound, and their bindings
    have named the group. Bindings that are queued put both off, up to `patience`: some thousand pods are bound
    meanwhile. `look_again`: between two looks at whether they have passed.
    """

    group: float = 0.2
    name: float = 3.0
    patience: float = 10.0
    look_again: float = 2.0


class PodGroupController(Controller[str]):
    """A `Sink` for `pod_group_index.KINDS`; `run` does the work.

    Without the Lease (`active`) it only keeps what it has seen.
    """

    def __init__(
        self,
        api: KubeApi,
        rules: GroupRules,
        *,
        active: IsActive,
        record: Record,
        workers: int = WORKERS,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        super().__init__("podgroup", namespace_of, active=active, workers=workers, rest=Rest(clock))
        self._api, self._rules, self._clock, self._record = api, rules, clock, record
        self._index = PodGroupIndex(rules, self._work.add)
        self._slots = Slots(workers)
        self._assumed: AssumedGroups | None = None
        self._bindings_passed: Callable[[], bool] = lambda: True
        self._delays = Delays()
        self._put_off: dict[str, tuple[float, float]] = {}
        """Group → when it was first seen that something has to be written, and when it is looked at again."""
        self._forbidden: set[str] = set()
        """Groups of which a write was forbidden: the scheduler is not shown them before they are stored."""

    def ahead(self, sink: Sink, bindings_passed: Callable[[], bool], delays: Delays | None = None) -> AssumedGroups:
        """What to feed instead of the scheduler's `sink`, always after this controller, so that the scheduler does
        not wait for writes. Bindings then go first: `bindings_passed` is true when none are queued."""
        self._assumed, self._bindings_passed = AssumedGroups(sink, self._index, self._rules), bindings_passed
        self._delays = delays or Delays()
        return self._assumed

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`Sink`: these are all there are of the kind."""
        self._index.replace(kind, objects)

    def upsert(self, kind: str, obj: ApiObject) -> None:
        """`Sink`: new or changed."""
        self._index.upsert(kind, obj)

    def delete(self, kind: str, obj: ApiObject) -> None:
        """`Sink`: gone."""
        self._index.delete(kind, obj)

    def _keys(self) -> Iterable[str]:
        return self._index.unfinished()

    async def _reconcile(self, key: str) -> None:
        """Bring one group (namespace/name) and its pods to what they should be."""
        if self._rests(key):
            return
        owner = self._index.scaled_owner(key)
        if owner is not None and owner[1].spec.replicas == 0:
            self._forget(key)
            await self._delete_group(key)
            return
        pods = self._index.pods_of(key)
        if not pods:
            self._forget(key)
            return
        standing = representative(pods, *owner) if owner is not None else None
        template = standing or min(pods, key=lambda pod: (pod.metadata.created, pod.metadata.name))
        existing = self._index.group(key)
        if existing is None:
            await self._show_ahead(key, template)
            if self._is_put_off(key, self._delays.group):
                return
            existing = await self._create_group(key, template)
        if standing is not None:
            await self._update_group(key, existing, standing)
        unnamed = [pod for pod in pods if not names_group(pod)]
        if unnamed and self._is_put_off(key, self._delays.name):
            return
        await self._annotate(unnamed, existing.metadata.name)
        self._put_off.pop(key, None)

    async def _show_ahead(self, key: str, pod: Pod) -> None:
        if self._assumed is None or key in self._put_off or key in self._forbidden:
            return
        group = (await self._plan(pod)).group
        metadata = msgspec.structs.replace(group.metadata, creation_timestamp=pod.metadata.creation_timestamp)
        self._assumed.show(msgspec.structs.replace(group, metadata=metadata))

    def _is_put_off(self, key: str, at_least: float) -> bool:
        """Whether it is too early to write what is missing; it is then looked at again."""
        if self._assumed is None:
            return False
        now = self._clock.monotonic()
        since, _ = self._put_off.get(key, (now, now))
        if now < since + at_least:
            until = since + at_least
        elif now < since + self._delays.patience and not self._bindings_passed():
            until = now + self._delays.look_again
        else:
            return False
        self._put_off[key] = since, until
        return self._rests(key)

    def _rests(self, key: str) -> bool:
        """Whether it is looked at later. Until then its pods may change as often as they like, and be thousands."""
        _, until = self._put_off.get(key, (0.0, 0.0))
        left = until - self._clock.monotonic()
        if left > 0:
            self._work.add(key, left)
        return left > 0

    def _forget(self, key: str) -> None:
        """Its pods are gone, or have come to an end."""
        self._put_off.pop(key, None)
        self._forbidden.discard(key)
        if self._assumed is not None:
            self._assumed.withdraw(key)

    async def _create_group(self, key: str, pod: Pod) -> PodGroup:
        plan = await self._plan(pod)
        metadata = plan.group.metadata
        path = pod_group_path(metadata.namespace)
        answer, _ = await created_or_found(self._api, path, group_as_json(plan.group))
        group = _POD_GROUP.decode(answer)
        self._index.note_group(key, group)
        self._forbidden.discard(key)
        self._warn_of(plan, pod)
        return group

    async def _update_group(self, key: str, existing: PodGroup, pod: Pod) -> None:
        plan = await self._plan(pod)
        changes = group_changes(existing, plan.group)
        if not changes:
            return
        log.info("PodGroup updated to follow its owner", pod_group=key, changes=changes)
        metadata = existing.metadata
        path = pod_group_path(metadata.namespace, metadata.name)
        changes["metadata"] = changes.get("metadata", {}) | {"uid": metadata.uid}
        try:
            answer = await self._api.patch(path, changes)
        except RequestError as error:
            if await is_gone(self._api, path, metadata.uid, error):
                self._index.forget_group(key)
            raise
        self._index.note_group(key, _POD_GROUP.decode(answer))
        self._warn_of(plan, pod)

    async def _delete_group(self, key: str) -> None:
        group = self._index.group(key)
        if group is None:
            return
        metadata = group.metadata
        if await delete_object(self._api, pod_group_path(metadata.namespace, metadata.name), metadata.uid):
            log.info("PodGroup deleted: its owner has no replicas", pod_group=key)
        self._index.forget_group(key)

    async def _annotate(self, pods: Sequence[Pod], name: str) -> None:
        """Write the group's name on the pods. One pod's failure does not stop the others."""
        await run_all(self._annotate_one(pod, name) for pod in pods)

    async def _annotate_one(self, pod: Pod, name: str) -> None:
        path = pod_path(pod.metadata.namespace, pod.metadata.name)
        async with self._slots.hold(pod.metadata.namespace):
            for attempt in range(1, _CONFLICTS_BEFORE_GIVING_WAY + 1):
                try:
                    await self._api.patch(path, pod_annotation(pod, name))
                except ConflictError:
                    # It has changed: perhaps it has a group now.
                    current = await self._current(path)
                    if current is None or current.metadata.uid != pod.metadata.uid or names_group(current):
                        return
                    if attempt == _CONFLICTS_BEFORE_GIVING_WAY:
                        raise
                    pod = current
                except RequestError as error:
                    if not is_another_object(error):
                        raise
                    return
                else:
                    self._index.note_annotated(pod, name)
                    return

    async def _current(self, path: ApiPath) -> Pod | None:
        try:
            return _POD.decode(await self._api.get(path))
        except NotFoundError:
            return None

    async def _plan(self, pod: Pod) -> GroupPlan:
        namespace = self._index.namespace_annotations(pod.metadata.namespace)
        return plan_group(pod, await self._owner(pod), namespace, self._rules)

    async def _owner(self, pod: Pod) -> Workload | None:
        """The owner to inherit from; asked for when the informers have not brought it (yet)."""
        reference = inheriting_owner(pod)
        if reference is None or not self._rules.inherit_owner_annotations:
            return None
        if (known := self._index.workload(reference.uid)) is not None:
            return known
        try:
            answer = await self._api.get(owner_path(pod.metadata.namespace, reference))
        except NotFoundError:
            return None
        except ForbiddenError as error:
            log.warning("owner's annotations not inherited: reading it is forbidden", error=str(error))
            return None
        owner = _WORKLOAD.decode(answer)
        return owner if owner.metadata.uid == reference.uid else None

    def _failed(self, key: str, error: Exception, failures: int) -> bool:
        """Always try again: without its PodGroup a pod is never scheduled."""
        if isinstance(error, ForbiddenError):
            # What is forbidden must not be scheduled. What is invalid, such as the name of its queue, the scheduler
            # reports on the pod.
            self._forbidden.add(key)
            if self._assumed is not None:
                self._assumed.withdraw(key)
        if self._log_failure("PodGroup not written yet", error, failures, pod_group=key):
            waiting = next((pod for pod in self._index.pods_of(key) if not names_group(pod)), None)
            if waiting is not None and isinstance(error, RequestError) and error.is_refusal:
                self._warn(waiting, f"PodGroup {key} cannot be written: {error}")
        return True

    def _warn_of(self, plan: GroupPlan, pod: Pod) -> None:
        """Once the plan is carried out."""
        for warning in plan.warnings:
            self._warn(pod, warning)

    def _warn(self, pod: Pod, message: str) -> None:
        metadata = pod.metadata
        about = ObjectRef("Pod", metadata.namespace, metadata.name, metadata.uid)
        self._record(Event(about, "Warning", EVENT_REASON, message))
