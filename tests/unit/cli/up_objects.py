"""Objects and rows for tests of `volcano-py up`, with only what matters as arguments."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from volcano_py.api.names import GROUP_NAME
from volcano_py.api.objects import Node, Pod, PodGroup, Queue
from volcano_py.cli.live.overview import EventRow, GroupRow, LoneRow, NodeRow, Overview, PodRow, QueueRow

GIB = 2**30

WHY = "NodesRefuse: 0/4 nodes are unavailable: 4 Insufficient cpu."
NO_GROUP = "PodGroupNotFound: PodGroup ml/missing does not exist: create it"


def pod(name: str, *, group: str = "", node: str = "", phase: str = "Pending", cpu: str = "1", **more: Any) -> Pod:
    """A pod of the namespace `ml`; `waits` is the message of its condition PodScheduled=False."""
    scheduler, gates = more.pop("scheduler", "volcano"), more.pop("gates", ())
    metadata = {"name": name, "namespace": "ml", "uid": name, "annotations": {GROUP_NAME: group} if group else {}}
    status: dict[str, Any] = {"phase": phase}
    if waits := more.pop("waits", ""):
        status["conditions"] = [{"type": "PodScheduled", "status": "False", "message": waits}]
    spec = {
        "schedulerName": scheduler,
        "schedulingGates": [{"name": gate} for gate in gates],
        "nodeName": node,
        "containers": [{"resources": {"requests": {"cpu": cpu}}}],
    }
    return msgspec.convert({"metadata": metadata | more, "spec": spec, "status": status}, Pod)


def pod_group(
    name: str, *, phase: str = "", why: str = "", created: str = "2026-01-01T00:00:00Z", **spec: Any
) -> PodGroup:
    """A PodGroup of the namespace `ml`; `owner` is (kind, name), or these and an API version."""
    metadata: dict[str, Any] = {"name": name, "namespace": "ml", "uid": name, "creationTimestamp": created}
    if owner := spec.pop("owner", None):
        kind, owner_name, *version = owner
        reference = {"apiVersion": version[0]} if version else {}
        metadata["ownerReferences"] = [{"kind": kind, "name": owner_name, "controller": True, **reference}]
    conditions = [{"type": "Unschedulable", "status": "True", "message": why}] if why else []
    status = {"phase": phase, "conditions": conditions}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, PodGroup)


def queue(name: str, *, allocated: dict[str, str] | None = None, state: str = "Open", **spec: Any) -> Queue:
    status = {"state": state, "allocated": allocated or {}}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec, "status": status}, Queue)


def node(name: str, **allocatable: str) -> Node:
    return msgspec.convert({"metadata": {"name": name}, "status": {"allocatable": allocatable}}, Node)


def queue_row(name: str = "team-a", **fields: Any) -> QueueRow:
    usual: dict[str, Any] = {
        "depth": 0,
        "state": "Open",
        "weight": 1,
        "allocated": {},
        "capability": {},
        "running": 0,
        "pods": 0,
    }
    return QueueRow(**{"name": name, **usual, **fields})


def group_row(name: str = "default/train", **fields: Any) -> GroupRow:
    """By default a gang of four that runs."""
    usual: dict[str, Any] = {
        "key": name,
        "owner": "",
        "queue": "team-a",
        "phase": "Running",
        "minimum": 4,
        "pods": 4,
        "bound": 4,
        "waiting": 0,
        "running": 4,
        "finished": 0,
        "why": "",
    }
    return GroupRow(**{"name": name, **usual, **fields})


def waiting_row(name: str = "default/too-large", **fields: Any) -> GroupRow:
    """A gang of three that waits whole."""
    usual: dict[str, Any] = {
        "phase": "Inqueue",
        "minimum": 3,
        "pods": 3,
        "bound": 0,
        "waiting": 3,
        "running": 0,
        "why": WHY,
    }
    return group_row(name, **{**usual, **fields})


def lone_row(name: str = "default/orphan", **fields: Any) -> LoneRow:
    """A pod whose PodGroup does not exist."""
    return LoneRow(**{"name": name, "others": 0, "why": NO_GROUP, **fields})


def node_row(name: str = "node-1", **fields: Any) -> NodeRow:
    usual: dict[str, Any] = {"allocatable": {"cpu": 8000, "memory": 32 * GIB, "pods": 110}, "used": {}, "pods": ()}
    return NodeRow(**{"name": name, **usual, **fields})


def pod_row(key: str, **fields: Any) -> PodRow:
    """By default a pod that runs."""
    usual: dict[str, Any] = {
        "group": "",
        "ours": True,
        "phase": "Running",
        "node": "node-1",
        "labels": {},
        "units": {},
        "why": "",
    }
    return PodRow(**{"key": key, **usual, **fields})


def event_row(reason: str = "Scheduled", **fields: Any) -> EventRow:
    usual: dict[str, Any] = {
        "at": datetime(2026, 1, 1, 12, tzinfo=UTC),
        "warning": False,
        "about": "Pod/train-0",
        "message": "assigned",
        "count": 1,
    }
    return EventRow(**{"reason": reason, **usual, **fields})


def crowd(*, queues: int = 3, groups: int = 4, nodes: int = 4, events: int = 5) -> Overview:
    """A cluster with so many of each; every other PodGroup waits."""
    return Overview(
        queues=tuple(queue_row(f"queue-{number:03}") for number in range(queues)),
        groups=tuple((waiting_row, group_row)[number % 2](f"default/group-{number:03}") for number in range(groups)),
        nodes=tuple(node_row(f"node-{number:03}") for number in range(nodes)),
        events=tuple(event_row(f"Event{number}") for number in range(events)),
    )
