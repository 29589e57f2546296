"""What a segment begins with: all objects as they are, and what the scheduler has done that they do not show yet."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from volcano_py.api.objects import ApiObject, metadata_of
from volcano_py.record.entries import (
    AssumedBound,
    AssumedEvicted,
    AssumedReported,
    AssumedStatus,
    BindFailed,
    Deleted,
    Entry,
    EvictFailed,
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


class Mirror:
    """Follows the entries. It holds objects as JSON, some 1 KB for a pod."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, tuple[str, msgspec.Raw]]] = {}
        self._loads: dict[str, Load] = {}
        self._own: dict[str, dict[str, Entry]] = {}
        """UID → topic → the last of the scheduler's own doings."""

    def object(self, entry: Upserted, obj: ApiObject) -> None:
        """The entry is about this object."""
        metadata = metadata_of(obj)
        known = self._objects.setdefault(entry.kind, {})
        if isinstance(entry, Deleted):
            found = known.get(metadata.key)
            if found is not None and metadata.uid in ("", found[0]):
                del known[metadata.key]
                self._own.pop(found[0], None)
            return
        known[metadata.key] = metadata.uid, entry.object

    def own(self, entry: Entry) -> None:
        """Any other entry."""
        match entry:
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

    def _put(self, uid: str, topic: str, entry: Entry) -> None:
        topics = self._own.setdefault(uid, {})
        topics.pop(topic, None)
        topics[topic] = entry

    def entries(self) -> Iterator[Entry]:
        """What brings an empty state to where this is."""
        for kind, objects in self._objects.items():
            for _, raw in objects.values():
                yield Upserted(kind, raw)
        if self._loads:
            yield Measured(self._loads)
        there = {uid for objects in self._objects.values() for uid, _ in objects.values()}
        for uid in [uid for uid in self._own if uid not in there]:
            del self._own[uid]
        for topics in self._own.values():
            yield from topics.values()
