"""Evictions as rows: what the scheduler's events say of them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from volcano_py.api.objects import ApiObject, ObjectMeta
from volcano_py.ui.board.model import EvictionRow

MOST: Final = 1000
"""Of each cluster; the newest are kept."""


class Reference(ApiObject, frozen=True):
    """An object that an event names."""

    namespace: str = ""
    name: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.name else ""


class EvictionEvent(ApiObject, frozen=True):
    """An Event of v1 about an eviction."""

    metadata: ObjectMeta
    involved_object: Reference = Reference()
    related: Reference | None = None
    action: str = ""
    message: str = ""
    last_timestamp: datetime | None = None
    event_time: datetime | None = None

    @property
    def at(self) -> float:
        """Seconds since the epoch, 0 when it does not say."""
        moment = self.last_timestamp or self.event_time or self.metadata.creation_timestamp
        return moment.timestamp() if moment is not None else 0.0


def eviction_row(event: EvictionEvent) -> EvictionRow:
    """Its message begins with the action, and goes on with why the pod could go."""
    action, _, why = event.message.partition(": ")
    return EvictionRow(
        key=event.metadata.key,
        pod=event.involved_object.key,
        at=event.at,
        action=event.action or action,
        claimant=event.related.key if event.related is not None else "",
        why=why or event.message,
    )
