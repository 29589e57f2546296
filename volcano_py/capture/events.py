"""The events of a namespace, with the rights of whoever asks, as entries of a history."""

from __future__ import annotations

from datetime import datetime

import msgspec

from volcano_py.api.objects import ApiObject, ObjectMeta
from volcano_py.capture.model import Unread
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import ForbiddenError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.explain.history import moment
from volcano_py.explain.model import Entry


class _About(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    namespace: str = ""
    name: str = ""


class _Event(ApiObject, frozen=True):
    """An Event of v1, as far as a history shows it."""

    metadata: ObjectMeta
    involved_object: _About = _About()
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None


async def events_in(client: KubernetesClient, namespace: str) -> tuple[tuple[Entry, ...], Unread | None]:
    """All events of the namespace that have a time; or, where they may not be read, what follows."""
    try:
        found = await client.list(ApiPath("v1", "events", namespace), _Event)
    except ForbiddenError as error:
        return (), Unread("Event", error.message or "forbidden", "the history has conditions only")
    return tuple(entry for entry in map(_entry, found) if entry.at), None


def _entry(event: _Event) -> Entry:
    at = event.last_timestamp or event.event_time or event.metadata.creation_timestamp
    about, times = event.involved_object, f" ({event.count} times)" if (event.count or 1) > 1 else ""
    return Entry(
        "" if at is None else moment(at),
        f"{about.kind} {about.namespace}/{about.name}",
        f"event {event.reason}{times}: {event.message}",
    )
