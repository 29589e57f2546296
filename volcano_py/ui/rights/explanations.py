"""Explanations as one user may see them: of other work, only what the user may look at anyway."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from volcano_py.explain.model import (
    Forecast,
    NodeExplanation,
    Nodes,
    Now,
    Position,
    QueueExplanation,
    WorkloadExplanation,
)
from volcano_py.ui.rights.sight import CONFIGURATION, NODES, QUEUES, Sight

Explanation = WorkloadExplanation | QueueExplanation | NodeExplanation

REDUCED: Final = "What concerns work that is not yours to see is left out"

_ITSELF: Final = ""
_REMEDIES: Final = {
    **dict.fromkeys(("fewer-pods", "smaller-pods", "missing-pods", "min-resources", "scheduler"), _ITSELF),
    **dict.fromkeys(("group", "claim", "spread", "gate"), _ITSELF),
    **dict.fromkeys(("queue", "capability", "deserved"), QUEUES),
    **dict.fromkeys(("nodes", "uncordon", "selector", "affinity", "toleration", "wider-domain"), NODES),
    **dict.fromkeys(("reclaim", "preempt"), CONFIGURATION),
}
"""Kind of remedy → the kind of objects that it speaks of, beside the workload itself; others speak of other work."""
_LIMITS: Final = {"gang": _ITSELF, "object": _ITSELF, "queue": QUEUES, "nodes": NODES}
"""Kind of limit → the kind of objects whose sums it has; others have sums over other work."""


def reduced(found: Explanation, sight: Sight) -> Explanation:
    """Of an object that the user may see itself."""
    if sight.sees_all_work:
        return found
    if isinstance(found, WorkloadExplanation):
        return _workload(found, sight)
    if isinstance(found, NodeExplanation):
        pods = {name: count for name, count in found.pods.items() if _is_visible(name, sight)}
        if not sight.sees_use:
            devices = tuple(replace(each, used=None) for each in found.devices)
            numa = tuple(replace(each, free=None) for each in found.numa)
            gpus = tuple(replace(each, memory_used=None, cores_used=None, users=None) for each in found.gpus)
            found = replace(found, used={}, free={}, devices=devices, numa=numa, gpus=gpus)
        return replace(found, pods=pods, unread=(REDUCED,))
    return replace(found, unread=())  # sums of queues, which are in the objects of queues


def _workload(found: WorkloadExplanation, sight: Sight) -> WorkloadExplanation:
    return replace(
        found,
        now=_now(found.now, sight),
        position=_position(found.position, sight),
        limits=tuple(each for each in found.limits if _may(_LIMITS.get(each.kind), sight)),
        nodes=_nodes(found.nodes, sight),
        remedies=tuple(each for each in found.remedies if _may(_REMEDIES.get(each.kind), sight)),
        tried_all=False,
        # Why a job stays may name yet other work.
        holders=tuple(
            replace(each, stays="", **({} if sight.may(QUEUES) else {"queue_allocated": {}, "queue_deserved": {}}))
            for each in found.holders
            if _is_visible(each.job, sight)
        ),
        forecast=_forecast(found.forecast, sight),
        unread=(REDUCED,),
    )


def _now(found: Now, sight: Sight) -> Now:
    """Evictions name what the pods go for."""
    return replace(
        found,
        evictions=(),
        ignored_of_queues=found.ignored_of_queues if sight.may(QUEUES) else (),
        lost_nodes=found.lost_nodes if sight.may(NODES) else (),
    )


def _may(resource: str | None, sight: Sight) -> bool:
    return resource is not None and (resource == _ITSELF or sight.may(resource))


def _is_visible(key: str, sight: Sight) -> bool:
    return sight.sees_work(key.partition("/")[0])


def _position(found: Position | None, sight: Sight) -> Position | None:
    """Numbers of jobs in queues are in the status of queues; who is ahead is not."""
    if found is None or not sight.may(QUEUES):
        return None
    ahead = tuple(each for each in found.ahead if _is_visible(each.name, sight))
    return replace(found, ahead=ahead, before=found.before if len(ahead) == len(found.ahead) else {})


def _nodes(found: Nodes | None, sight: Sight) -> Nodes | None:
    """What nodes lack, and what domains still take, tells how full they are."""
    if found is None or not sight.may(NODES):
        return None
    return found if sight.sees_use else replace(found, nearest=(), domains=())


def _forecast(found: Forecast | None, sight: Sight) -> Forecast | None:
    """The moment is about the workload itself; whose end it waits for is not."""
    if found is None or not found.at:
        return None
    return replace(found, after=tuple(each for each in found.after if _is_visible(each, sight)), undeclared=0)
