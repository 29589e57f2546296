"""Queues, and the quotas that give namespaces their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import structlog

from volcano_py.api.annotations.reading import Unreadable
from volcano_py.api.effects import ObjectRef
from volcano_py.api.objects import Queue, ResourceQuota
from volcano_py.state.infos import QueueInfo
from volcano_py.state.queues.quotas import Quota, eased, quotas_by_namespace
from volcano_py.state.queues.weights import namespace_weights, read_weight
from volcano_py.state.readers import read_queue
from volcano_py.state.table.change import Change
from volcano_py.state.table.stores import ObjectStore

if TYPE_CHECKING:
    from volcano_py.api.objects import ApiObject
    from volcano_py.state.table.interner import Interner
    from volcano_py.state.table.ledger import Ledger
    from volcano_py.state.unreadable_values import UnreadableOfObjects

log = structlog.get_logger(__name__)


class Queues:
    """Store of queues. `slots` are shared with the jobs, which name queues whether or not they exist.

    Attributes:
        version: another number whenever a queue came, went or changed in what can alter a decision.
    """

    def __init__(self, ledger: Ledger, slots: Interner, unreadable: UnreadableOfObjects) -> None:
        self._ledger, self._unreadable = ledger, unreadable
        self._slots = slots
        self._objects: ObjectStore[Queue] = ObjectStore()
        self._infos: dict[str, QueueInfo] = {}
        self._width = len(ledger.axis)
        self.version = 0

    def upsert(self, queue: Queue) -> Change:
        name = queue.metadata.name
        old = self._objects.put(queue)
        known = self._infos.get(name)
        slot = known.slot if known is not None else self._slots.take(name)
        reading = read_queue(queue, slot, self._ledger.axis)
        if reading.axis is not self._ledger.axis:
            self._ledger.widen(reading.axis)
        self._infos[name] = info = reading.info
        if info.problems and (known is None or known.problems != info.problems):
            log.warning("a queue has fields that cannot be used as they are", queue=name, problems=info.problems)
        if old is not None and _written_fields(old) == _written_fields(queue):
            return Change.NONE
        self.version += 1
        return Change.DECISION

    def delete(self, queue: Queue) -> Change:
        if self._objects.take(queue) is None:
            return Change.NONE
        self._slots.give_back(self._infos.pop(queue.metadata.name).slot)
        self._unreadable.take("Queue", queue.metadata.name)
        self.version += 1
        return Change.DECISION

    def known(self) -> list[ApiObject]:
        return [*self._objects.all()]

    def __len__(self) -> int:
        return len(self._infos)

    def infos(self) -> dict[str, QueueInfo]:
        """By name, each as wide as the axis is now."""
        axis = self._ledger.axis
        if self._width != len(axis):
            for queue in self._objects.all():
                name = queue.metadata.name
                self._infos[name] = read_queue(queue, self._infos[name].slot, axis).info
            self._width = len(axis)
        return self._infos.copy()


class Quotas:
    """Store of ResourceQuotas."""

    def __init__(self, unreadable: UnreadableOfObjects) -> None:
        self._objects: ObjectStore[ResourceQuota] = ObjectStore()
        self._unreadable = unreadable
        self._by_namespace: Mapping[str, tuple[Quota, ...]] | None = None
        """None when it has to be worked out again."""

    def upsert(self, quota: ResourceQuota) -> Change:
        old = self._objects.put(quota)
        self._by_namespace = None
        weight, meta = read_weight(quota), quota.metadata
        about = ObjectRef("ResourceQuota", meta.namespace, meta.name, meta.uid)
        self._unreadable.put(about, (weight,) if isinstance(weight, Unreadable) else ())
        return Change.DECISION if old is None or eased(old, quota) else Change.LATER

    def delete(self, quota: ResourceQuota) -> Change:
        if self._objects.take(quota) is None:
            return Change.NONE
        self._by_namespace = None
        self._unreadable.take("ResourceQuota", quota.metadata.key)
        return Change.DECISION

    def known(self) -> list[ApiObject]:
        return [*self._objects.all()]

    def namespace_weights(self) -> Mapping[str, int]:
        return namespace_weights(self._objects.all())

    def by_namespace(self) -> Mapping[str, tuple[Quota, ...]]:
        """Quotas are read once, not for every snapshot."""
        if self._by_namespace is None:
            self._by_namespace = quotas_by_namespace(self._objects.all())
        return self._by_namespace


def _written_fields(queue: Queue) -> tuple[object, ...]:
    """What of a queue can alter a decision."""
    return queue.spec, queue.metadata.annotations, queue.status.state
