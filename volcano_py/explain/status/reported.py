"""How a workload stands as the cluster has it, where too little can be read to decide again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from volcano_py.api.names import UNSCHEDULABLE
from volcano_py.api.objects import Pod
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.pod_message import why_pod_waits
from volcano_py.explain.model import Now
from volcano_py.explain.status import remarks
from volcano_py.explain.status.now import since
from volcano_py.explain.target import Target, as_captured, captured_group, queue_of, refused_job
from volcano_py.explain.world import World

_UNKNOWN: Final = Reason.NOT_YET_EVALUATED.value
_CODES: Final = frozenset(each.value for each in Reason)
_SETTLED: Final = frozenset({"Running", "Completed"})  # phases of PodGroups that wait for nothing


def as_reported(world: World, target: Target) -> Now:
    """Its state as the cluster has it, with the reason that the scheduler has written."""
    pods = as_captured(world, target)
    nodes = Counter(pod.spec.node_name for pod in pods if pod.spec.node_name)
    running, wanted = sum(nodes.values()), max(len(pods), target.need)
    waits = running < target.need or any(not pod.spec.node_name and pod.status.phase == "Pending" for pod in pods)
    reason, message = _reported(world, target, pods) if waits else ("", "")
    return Now(
        state="Running" if not waits else "Partly running" if running else "Waiting",
        running=running,
        wanted=wanted,
        reason=reason,
        message=message,
        since=since(world, target) if waits else "",
        nodes=dict(nodes),
        ignored=remarks.ignored(world, target),
        ignored_of_queues=remarks.ignored_of_queues(world, queue_of(world, target)),
        reported=True,
    )


def _reported(world: World, target: Target, pods: Sequence[Pod]) -> tuple[str, str]:
    """Reason and message of the conditions, of the PodGroup before those of its pods."""
    if (found := refused_job(world, target)) is not None:
        return found[1].reason, found[1].message
    group = captured_group(world, target)
    conditions = () if group is None or group.status.phase in _SETTLED else group.status.conditions
    of_group = [
        (each.reason, each.message) for each in conditions if each.type == UNSCHEDULABLE and each.status == "True"
    ]
    of_pods = [(_UNKNOWN, text) for text in map(why_pod_waits, pods) if text]
    reason, text = next(iter((*of_group, *of_pods)), (_UNKNOWN, "the scheduler has written no reason yet"))
    code, _, message = text.partition(": ")
    return (code, message) if code in _CODES else (reason, text)
