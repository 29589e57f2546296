"""How the workload stands, and the one reason that decides."""

from __future__ import annotations

from collections import Counter

from volcano_py.api.objects import Pod, PodGroup
from volcano_py.api.wording.pod_message import why_pod_waits
from volcano_py.cluster.memory_pods import group_of
from volcano_py.explain.model import Now
from volcano_py.explain.target import Target
from volcano_py.explain.world import World


def now(world: World, target: Target) -> Now:
    """Its state as the scheduler decides it now."""
    before = as_captured(world, target)
    theirs = {pod.metadata.uid for pod in before}
    evictions = tuple(effect.message for effect in world.evictions if effect.pod.uid in theirs)
    nodes = Counter(pod.spec.node_name for pod in target.pods if pod.spec.node_name)
    running = sum(nodes.values())
    waits = bool(target.waiting) or running < target.need
    if not waits:
        were = sum(bool(pod.spec.node_name) for pod in before)
        state = "Running" if were >= running else "Starting"
        return Now(state, running, max(len(target.pods), target.need), nodes=dict(nodes), evictions=evictions)
    reason, message = _why(world, target)
    return Now(
        state="Partly running" if running else "Waiting",
        running=running,
        wanted=max(len(target.pods), target.need),
        reason=reason,
        message=message,
        since=_since(world, target),
        nodes=dict(nodes),
        evictions=evictions,
    )


def _why(world: World, target: Target) -> tuple[str, str]:
    for job in world.report.pending:
        if job.name == target.group:
            return str(job.reason.value), job.message
    texts = [text for text in map(why_pod_waits, target.waiting) if text]
    reason, _, message = texts[0].partition(": ") if texts else ("NotYetEvaluated", "", "")
    return reason, message


def _since(world: World, target: Target) -> str:
    """When the newest condition that says that it waits became so, else when it was created."""
    found = captured_group(world, target)
    conditions = [] if found is None else found.status.conditions
    times = [c.last_transition_time for c in conditions if c.type == "Unschedulable" and c.status == "True"]
    times += [] if found is None else [found.metadata.creation_timestamp]
    times += [pod.metadata.creation_timestamp for pod in target.waiting]
    known = [moment for moment in times if moment is not None]
    return known[0].isoformat(timespec="seconds").replace("+00:00", "Z") if known else ""


def as_captured(world: World, target: Target) -> list[Pod]:
    """Its pods as the cluster has them, before the scheduler ran over the copy."""
    keys = {pod.metadata.key for pod in target.pods}
    pods = (obj for kind, obj in world.items if kind == "Pod" and isinstance(obj, Pod))
    return [pod for pod in pods if pod.metadata.key in keys or (target.group and group_of(pod) == target.group)]


def captured_group(world: World, target: Target) -> PodGroup | None:
    """Its PodGroup as the cluster has it."""
    groups = (obj for kind, obj in world.items if kind == "PodGroup" and isinstance(obj, PodGroup))
    return next((group for group in groups if group.metadata.key == target.group), None)
