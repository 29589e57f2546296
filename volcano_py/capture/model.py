"""A capture: the objects of a cluster at one moment, and what else the scheduler's decisions follow from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from volcano_py.api import names
from volcano_py.api.shards.sharding import Sharding
from volcano_py.cluster.manifests import Stored

BUILT_IN: Final = "built-in default"
"""The source of a configuration that no ConfigMap has replaced."""


class CaptureError(ValueError):
    """A capture cannot be taken, read or used; the text says why, and what to do."""


class Unread(msgspec.Struct, frozen=True):
    """Something that is not in the capture, although decisions may follow from it."""

    what: str
    """A kind, such as `StorageClass`, or one object: `Pod team/web-0`."""
    why: str
    so: str
    """What follows from it for decisions."""

    def __str__(self) -> str:
        return f"{self.what} not read: {self.why}; {self.so}"


class CapturedEvent(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An Event, as far as a history shows it. `message` is "" where it is left out."""

    at: datetime
    kind: str
    """Of the object that it is about, as `namespace` and `name` are."""
    namespace: str
    name: str
    reason: str
    message: str = ""
    count: int = 1
    uid: str = ""
    """Of the object; "" where the event does not have it."""


class Capture(msgspec.Struct, frozen=True):
    """One cluster. Pods and templates are stripped to what decisions need (`contents`)."""

    taken: float
    """Seconds since the epoch. The time of a simulation begins here."""
    items: tuple[Stored, ...]
    """(kind, object), the kinds named as `cluster.manifests.stored` names them."""
    configuration: str
    """The text of the scheduler's configuration."""
    source: str = BUILT_IN
    """Where the text is from, for messages."""
    scheduler_names: frozenset[str] = frozenset({names.DEFAULT_SCHEDULER_NAME})
    default_queue: str = names.DEFAULT_QUEUE
    sharding: Sharding | None = None
    """The shard of the scheduler; None for all nodes."""
    events: tuple[CapturedEvent, ...] | None = None
    """Those of workloads, queues and nodes (`events.kept`), for histories; None where none were read."""
    unread: tuple[Unread, ...] = ()
    revision: str = ""
    """The resource version of which all lists are; "" where they are of several moments."""
    leader: str = ""
    """Holder of the scheduler's Lease, "" when it is not known."""
    versions: Mapping[str, str] = {}
    """Program → version, such as volcano-py and kubernetes."""

    @property
    def moment(self) -> str:
        """When it was taken, such as 2026-11-24T10:00:00Z."""
        return datetime.fromtimestamp(int(self.taken), UTC).isoformat().replace("+00:00", "Z")
