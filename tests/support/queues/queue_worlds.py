"""Queues for the rules of admission, written in one line each."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from volcano_py.admission.queue_world import QueueFacts, QueueWorld
from volcano_py.api.names import HIERARCHY, HIERARCHY_WEIGHTS
from volcano_py.api.objects import ObjectMeta, Queue, QueueGuarantee, QueueSpec, QueueStatus


def queue(
    name: str,
    parent: str = "",
    *,
    capability: Mapping[str, Any] | None = None,
    deserved: Mapping[str, Any] | None = None,
    guarantee: Mapping[str, Any] | None = None,
    weight: int = 1,
    state: str = "Open",
    path: str = "",
    weights: str = "",
    deleted: bool = False,
    reclaimable: bool | None = None,
) -> Queue:
    """A queue; `path` and `weights` are its hierarchy annotations."""
    annotations = {key: text for key, text in ((HIERARCHY, path), (HIERARCHY_WEIGHTS, weights)) if text}
    spec = QueueSpec(
        weight=weight,
        parent=parent,
        capability=dict(capability or {}),
        deserved=dict(deserved or {}),
        guarantee=QueueGuarantee(resource=dict(guarantee or {})),
        reclaimable=reclaimable,
    )
    when = datetime(2026, 1, 1, tzinfo=UTC) if deleted else None
    metadata = ObjectMeta(name=name, annotations=annotations, deletion_timestamp=when)
    return Queue(metadata=metadata, spec=spec, status=QueueStatus(state=state))


def world(*queues: Queue, **pod_groups: int) -> QueueWorld:
    """These queues with root and default; keywords are PodGroups that are not finished, by queue."""
    facts = [QueueFacts.of(each) for each in (queue("root"), queue("default"), *queues)]
    return QueueWorld.of(facts, {name.replace("_", "-"): count for name, count in pod_groups.items()})
