"""Events, with the rights of whoever asks: those of a namespace for a history, and what a capture keeps of all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Set
from datetime import datetime
from typing import Final

import msgspec

from volcano_py.api import names
from volcano_py.api.objects import ApiObject, ObjectMeta, metadata_of
from volcano_py.capture.model import CapturedEvent, Unread
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import ForbiddenError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.manifests import VOLCANO_JOB, Stored

MOST_EVENTS: Final = 20
"""Of one object, the newest."""
_LONGEST_MESSAGE: Final = 1024
"""Characters; the API server takes no longer ones from newer clients."""
_KINDS: Final = {kind: kind for kind in ("Pod", "PodGroup", "Queue", "Node")} | {VOLCANO_JOB: "Job"}
"""Kind in a capture → kind in events."""
_SCHEDULERS: Final = frozenset(
    {names.KUBERNETES_SCHEDULER, names.DEFAULT_SCHEDULER_NAME, "vc-scheduler", "vc-controller-manager"}
)
"""Reporters whose messages are about scheduling. Others, such as the kubelet, may name Secrets, images or commands."""


class _About(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class _Reporter(msgspec.Struct, frozen=True):
    component: str = ""


class Event(ApiObject, frozen=True):
    """An Event of v1, as far as a history shows it."""

    metadata: ObjectMeta
    involved_object: _About = _About()
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    reporting_component: str = ""
    source: _Reporter = _Reporter()

    @property
    def reporter(self) -> str:
        return self.reporting_component or self.source.component


async def events_in(client: KubernetesClient, namespace: str) -> tuple[tuple[CapturedEvent, ...], Unread | None]:
    """All events of the namespace that have a time; or, where they may not be read, what follows."""
    found, unread = await listed(client, namespace)
    return tuple(each for each in map(_captured, found) if each is not None), unread


async def listed(client: KubernetesClient, namespace: str = "") -> tuple[list[Event], Unread | None]:
    """The events of a namespace, "" for all; or, where they may not be read, what follows."""
    try:
        return await client.list(ApiPath("v1", "events", namespace), Event), None
    except ForbiddenError as error:
        return [], Unread("Event", error.message or "forbidden", "the history has conditions only")


def kept(events: Iterable[Event], items: Iterable[Stored], scheduler_names: Set[str]) -> tuple[CapturedEvent, ...]:
    """What a capture of these objects keeps: the newest events of its workloads, queues and nodes, oldest first, with
    the messages of schedulers and their controllers."""
    about = {
        (_KINDS[kind], metadata.namespace, metadata.name)
        for kind, metadata in ((kind, metadata_of(obj)) for kind, obj in items)
        if kind in _KINDS
    }
    speaking = _SCHEDULERS | scheduler_names
    by_object: dict[tuple[str, str, str], list[CapturedEvent]] = defaultdict(list)
    for event in events:
        found = _captured(event, with_message=event.reporter in speaking)
        if found is not None and (key := (found.kind, found.namespace, found.name)) in about:
            by_object[key].append(found)
    newest = [each for found in by_object.values() for each in sorted(found, key=_order)[-MOST_EVENTS:]]
    return tuple(sorted(newest, key=_order))


def _captured(event: Event, *, with_message: bool = True) -> CapturedEvent | None:
    """None for an event without a time."""
    at, about = event.last_timestamp or event.event_time or event.metadata.creation_timestamp, event.involved_object
    if at is None:
        return None
    # Events of objects without a namespace are in some namespace all the same, and may name it.
    namespace = "" if about.kind in ("Queue", "Node") else about.namespace
    message = event.message[:_LONGEST_MESSAGE] if with_message else ""
    return CapturedEvent(at, about.kind, namespace, about.name, event.reason, message, event.count or 1, about.uid)


def _order(event: CapturedEvent) -> tuple[datetime, str, str, str, str]:
    return event.at, event.kind, event.namespace, event.name, event.reason
