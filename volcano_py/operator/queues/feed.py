"""Keeps the sinks' queues complete from two sources: kopf's events, and a periodic list.

kopf is the only watcher of queues. Events alone are not enough: kopf lists again when its watch has been away for too
long, and reports nothing for what was deleted meanwhile. So every list made here is compared with what the events have
brought; versions decide which of the two is newer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import structlog

from volcano_py.api.json_values import Reader, converted
from volcano_py.api.objects import Queue
from volcano_py.cluster.kubernetes.watching.versions import version_of
from volcano_py.cluster.protocol import BadObjectHandler, Sink

log = structlog.get_logger(__name__)

KIND: Final = "Queue"
_QUEUE: Final = Reader(Queue)


class QueueFeed:
    """Takes events and lists; passes on what is new, in the order of versions.

    `bad_object` hears of queues that cannot be read; the last version that could be read stays.
    """

    def __init__(self, sinks: Sequence[Sink], bad_object: BadObjectHandler) -> None:
        self._sinks, self._bad_object = list(sinks), bad_object
        self._known: dict[str, Queue] = {}
        self._deleted: dict[str, int] = {}  # UID → version; kept until a list is newer
        self._newest: dict[str, int] = {}  # UID → newest version in an event
        self._owed: dict[str, int] = {}  # UID → version that a list has shown before any event did
        self._at = -1  # version of the last list
        self.has_listed = False

    def add(self, sink: Sink) -> None:
        """Feed this sink, too; to be called before the first list."""
        self._sinks.append(sink)

    def event(self, change: str | None, raw: Mapping[str, Any]) -> None:
        """An event of the watch: ADDED, MODIFIED, DELETED, or None for an object of kopf's own list."""
        try:
            queue = converted(raw, Queue)
        except msgspec.ValidationError as error:
            self._unreadable(raw, error)
            return
        uid, version = queue.metadata.uid, version_of(queue.metadata.resource_version)
        if change == "DELETED":
            self._delete(queue.metadata.name, uid, version)
        elif not self._is_past(queue):
            self._newest[uid] = max(version, self._newest.get(uid, -1))
            self._upsert(queue)

    def made(self, queue: Queue) -> None:
        """A queue that we ourselves made, as the server answered, so that nothing waits for its event."""
        if not self._is_past(queue):
            self._upsert(queue)

    def listed(self, items: Sequence[msgspec.Raw], version: str) -> bool:
        """All queues there were at this version, as JSON. Whether the events keep up.

        They do not when a change that the list before this one showed has not come as an event to this day.
        """
        at = self._at = version_of(version)
        queues, unreadable = self._read(items)
        if not self.has_listed:
            self.has_listed = True
            self._replace(queues)
            return True
        keeps_up = all(self._newest.get(uid, -1) >= owed for uid, owed in self._owed.items() if self._is_known(uid))
        self._owed = {}
        names = {queue.metadata.name for queue in queues} | unreadable
        for name, known in list(self._known.items()):
            # One that is newer than the list was created after it.
            if name not in names and version_of(known.metadata.resource_version) <= at:
                log.info("queue deleted while not watched", queue=name)
                self._delete(name, known.metadata.uid, at)
        for queue in queues:
            if self._upsert(queue):
                self._owed[queue.metadata.uid] = version_of(queue.metadata.resource_version)
        self._deleted = {uid: deleted for uid, deleted in self._deleted.items() if deleted > at}
        return keeps_up

    def _read(self, items: Sequence[msgspec.Raw]) -> tuple[list[Queue], set[str]]:
        """The queues, and the names of those that cannot be read: they exist nevertheless."""
        queues: list[Queue] = []
        unreadable: set[str] = set()
        for item in items:
            try:
                queues.append(_QUEUE.decode(item))
            except msgspec.ValidationError as error:
                unreadable.add(self._unreadable(msgspec.json.decode(item), error))
        return queues, unreadable

    def _unreadable(self, raw: Mapping[str, Any], error: Exception) -> str:
        metadata = raw.get("metadata") or {}
        name = str(metadata.get("name", ""))
        self._bad_object(KIND, name, str(metadata.get("uid", "")), error)
        return name

    def _replace(self, queues: Sequence[Queue]) -> None:
        self._known = {queue.metadata.name: queue for queue in queues}
        for sink in self._sinks:
            sink.replace(KIND, queues)

    def _is_past(self, queue: Queue) -> bool:
        """Whether the last list is newer and has no such queue any more."""
        metadata = queue.metadata
        return metadata.name not in self._known and 0 <= version_of(metadata.resource_version) <= self._at

    def _upsert(self, queue: Queue) -> bool:
        """Pass the queue on if it is new; whether it was."""
        metadata = queue.metadata
        known = self._known.get(metadata.name)
        if metadata.uid in self._deleted:
            return False
        if known is not None and 0 <= version_of(metadata.resource_version) <= version_of(
            known.metadata.resource_version
        ):
            return False
        if known is not None and known.metadata.uid != metadata.uid:
            # A namesake was created, so its predecessor is gone, although no event has said so yet.
            self._deleted[known.metadata.uid] = version_of(metadata.resource_version)
        self._known[metadata.name] = queue
        for sink in self._sinks:
            sink.upsert(KIND, queue)
        return True

    def _delete(self, name: str, uid: str, version: int) -> None:
        self._deleted[uid] = version
        self._newest.pop(uid, None)
        known = self._known.get(name)
        if known is None or known.metadata.uid != uid:
            return
        del self._known[name]
        for sink in self._sinks:
            sink.delete(KIND, known)

    def _is_known(self, uid: str) -> bool:
        return any(queue.metadata.uid == uid for queue in self._known.values())
