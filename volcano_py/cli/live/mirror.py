"""A copy of the shown part of the cluster, kept up to date by watches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from volcano_py.api.objects import ApiObject, ObjectMeta, Pod, metadata_of
from volcano_py.cli.live.overview import EventRow, Overview, overview, pod_row
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.watching.kinds import NODE, POD, POD_GROUP, QUEUE, Kind

_MOST_EVENTS: Final = 50
# What the scheduler writes events about; nodes and workloads are other components' business.
_ABOUT: Final = frozenset({"Pod", "PodGroup", "Queue", "ConfigMap"})
_NEVER: Final = datetime.fromtimestamp(0, UTC)


class InvolvedObject(ApiObject, frozen=True):
    """What an event is about."""

    kind: str = ""
    name: str = ""


class ClusterEvent(ApiObject, frozen=True):
    """An Event of v1, as far as it is shown."""

    metadata: ObjectMeta
    involved_object: InvolvedObject = InvolvedObject()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None


EVENT: Final = Kind("Event", ApiPath("v1", "events"), ClusterEvent)

WATCHED: Final = (NODE, QUEUE, POD_GROUP, POD, EVENT)
"""The kinds that a mirror follows."""


class Mirror:
    """A sink for informers (`cluster.protocol.Sink`). Every change sets `changed`; the reader clears it."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        # Pods are many: they are kept as rows, so that only the changed ones are looked at again.
        self._kept: dict[str, dict[str, Any]] = {kind.name: {} for kind in WATCHED}

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """These are all objects of the kind."""
        if kind != EVENT.name:  # what has happened has happened, though the server may forget it
            self._kept[kind].clear()
        for obj in objects:
            self.upsert(kind, obj)
        self.changed.set()

    def upsert(self, kind: str, obj: ApiObject) -> None:
        """The object is new or has changed."""
        key = metadata_of(obj).key
        if isinstance(obj, ClusterEvent):
            if obj.involved_object.kind not in _ABOUT:
                return
            events = self._kept[kind]
            events[key] = event_row(obj)
            if len(events) > _MOST_EVENTS:
                del events[min(events, key=lambda each: events[each].at)]
        else:
            self._kept[kind][key] = pod_row(obj) if isinstance(obj, Pod) else obj
        self.changed.set()

    def delete(self, kind: str, obj: ApiObject) -> None:
        """The object is gone."""
        if kind != EVENT.name:
            self._kept[kind].pop(metadata_of(obj).key, None)
            self.changed.set()

    def overview(self) -> Overview:
        """The overview of the cluster now."""
        return overview(
            nodes=self._kept[NODE.name].values(),
            queues=self._kept[QUEUE.name].values(),
            groups=self._kept[POD_GROUP.name].values(),
            pods=self._kept[POD.name].values(),
            events=self._kept[EVENT.name].values(),
        )


def event_row(event: ClusterEvent) -> EventRow:
    """The event as it is shown."""
    return EventRow(
        at=event.last_timestamp or event.event_time or event.metadata.creation_timestamp or _NEVER,
        warning=event.type == "Warning",
        about=f"{event.involved_object.kind}/{event.involved_object.name}",
        reason=event.reason,
        message=event.message,
        count=event.count or 1,
    )
