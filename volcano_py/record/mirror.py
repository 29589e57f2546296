"""What a segment begins with: all objects as they are, and what the scheduler has done that they do not show yet."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from volcano_py.api.names import CHARGED_QUEUE
from volcano_py.api.objects import ApiObject, Pod, metadata_of
from volcano_py.record.entries import (
    AssumedBound,
    AssumedEvicted,
    AssumedReported,
    AssumedStatus,
    BindFailed,
    Deleted,
    Entry,
    EvictFailed,
    Looked,
    Measured,
    ReportFailed,
    Upserted,
)
from volcano_py.state.nodes.loads import Load

_OWN = {
    BindFailed: "bind",
    AssumedEvicted: "evict",
    EvictFailed: "evict",
    AssumedStatus: "status",
    AssumedReported: "report",
    ReportFailed: "report",
}


class _Done(msgspec.Struct, frozen=True):
    """What the scheduler did about an object, and the object as it was then."""

    entry: Entry
    then: Upserted


class Mirror:
    """Follows the entries. It holds objects as JSON, some 1 KB for a pod."""

    def __init__(self) -> None:
        self._uids: dict[str, dict[str, str]] = {}
        """Kind → namespace/name → UID."""
        self._shown: dict[str, Upserted] = {}
        """UID → the object as it came last."""
        self._loads: dict[str, Load] = {}
        self._own: dict[str, dict[str, _Done]] = {}
        """UID → topic → the last of the scheduler's own doings, in their order."""

    def object(self, entry: Upserted, obj: ApiObject) -> None:
        """The entry is about this object."""
        metadata = metadata_of(obj)
        known, uid = self._uids.setdefault(entry.kind, {}), metadata.uid or f"{entry.kind} {metadata.key}"
        before = known.get(metadata.key)
        if isinstance(entry, Deleted):
            if before is not None and (not metadata.uid or before == uid):
                self._forget(known.pop(metadata.key))
            return
        if before is not None and before != uid:
            self._forget(before)
        known[metadata.key], self._shown[uid] = uid, entry
        if uid in self._own and isinstance(obj, Pod) and obj.spec.node_name and CHARGED_QUEUE in metadata.annotations:
            self._confirmed(uid)

    def _confirmed(self, uid: str) -> None:
        """The pod shows where it is, and for which queue."""
        topics = self._own[uid]
        topics.pop("bind", None)
        topics.pop("report", None)
        if not topics:
            del self._own[uid]

    def _forget(self, uid: str) -> None:
        self._shown.pop(uid, None)
        self._own.pop(uid, None)

    def own(self, entry: Entry) -> None:
        """Any other entry."""
        match entry:
            case Looked():
                self._go_on_waiting(entry)
            case Measured():
                self._loads.update(entry.loads)
            case AssumedBound():
                for bind in entry.binds:
                    self._put(bind.pod.uid, "bind", AssumedBound((bind,)))
            case BindFailed() | AssumedEvicted() | EvictFailed():
                self._put(entry.uid, _OWN[type(entry)], entry)
            case AssumedStatus():
                self._put(entry.update.group.uid, _OWN[type(entry)], entry)
            case AssumedReported() | ReportFailed():
                self._put(entry.condition.pod.uid, _OWN[type(entry)], entry)

    def _go_on_waiting(self, looked: Looked) -> None:
        """Statuses that still wait to be written count as if they were sent then."""
        for uid in looked.waits:
            done = self._own.get(uid, {}).get("status")
            if done is not None:
                self._own[uid]["status"] = replace(done, entry=replace(done.entry, now=looked.now))

    def _put(self, uid: str, topic: str, entry: Entry) -> None:
        if (shown := self._shown.get(uid)) is None:
            return  # the state knows no such object either
        topics = self._own.setdefault(uid, {})
        topics.pop(topic, None)
        topics[topic] = _Done(entry, shown)

    def entries(self) -> Iterator[Entry]:
        """What brings an empty state to where this is."""
        for uids in self._uids.values():
            for uid in uids.values():
                done = next(iter(self._own.get(uid, {}).values()), None)
                yield self._shown[uid] if done is None else done.then
        if self._loads:
            yield Measured(self._loads)
        for uid, topics in self._own.items():
            yield from _in_turn(topics, self._shown[uid])


def _in_turn(topics: dict[str, _Done], last: Upserted) -> Iterator[Entry]:
    """What was done, each on the object as it was then; the first of these objects is there."""
    there = next(iter(topics.values())).then
    for done in topics.values():
        if done.then is not there:
            yield done.then
            there = done.then
        yield done.entry
    if last is not there:
        yield last
