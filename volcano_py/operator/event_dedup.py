"""Records each event of a controller once, however often the controller looks at the object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from volcano_py.api.effects import Event, ObjectRef
from volcano_py.api.objects import ObjectMeta
from volcano_py.jobs.event_note import EventNote
from volcano_py.operator.kube_api import Record

# For one object. With more events than this, the first ones may be recorded a second time.
_REMEMBERED: Final = 64


class EventDeduplicator:
    """Records events of objects of one kind, while they exist (`is_there`): those of others would be kept forever."""

    def __init__(self, kind: str, record: Record, is_there: Callable[[ObjectMeta], bool]) -> None:
        self._kind, self._record, self._is_there = kind, record, is_there
        self._recorded: dict[str, set[tuple[str, str]]] = {}  # UID → (reason, dedup_key)

    def record(self, metadata: ObjectMeta, *notes: EventNote) -> None:
        """Record events on the object, except those recorded before."""
        if not self._is_there(metadata):
            return
        recorded = self._recorded.setdefault(metadata.uid, set())
        for note in notes:
            if note.dedup_key:
                key = (note.reason, note.dedup_key)
                if key in recorded:
                    continue
                if len(recorded) >= _REMEMBERED:
                    recorded.clear()
                recorded.add(key)
            about = ObjectRef(self._kind, metadata.namespace, metadata.name, metadata.uid)
            self._record(Event(about, note.type, note.reason, note.message))

    def forget(self, uid: str) -> None:
        """The object is gone."""
        self._recorded.pop(uid, None)
