"""How the workload stands, and the one reason that decides."""

from __future__ import annotations

from collections import Counter
from typing import Final

from volcano_py.api.annotations.known import unreadable_of_pod
from volcano_py.api.annotations.of_groups import ignored_of_pod_group
from volcano_py.api.objects import Pod, PodGroup
from volcano_py.api.wording.pod_message import why_pod_waits
from volcano_py.api.wording.summarize import counted, plural, summarize
from volcano_py.cluster.memory_pods import group_of
from volcano_py.explain.model import Now
from volcano_py.explain.target import Target, queue_of, queues_above, refused_job
from volcano_py.explain.world import World

_MOST_VALUES: Final = 10  # that are different; each pod may have its own


def now(world: World, target: Target) -> Now:
    """Its state as the scheduler decides it now."""
    before = as_captured(world, target)
    theirs = {pod.metadata.uid for pod in before}
    evictions = tuple(effect.message for effect in world.evictions if effect.pod.uid in theirs)
    nodes = Counter(pod.spec.node_name for pod in target.pods if pod.spec.node_name)
    running = sum(nodes.values())
    ignored, of_queues = _ignored(world, target), ignored_of_queues(world, queue_of(world, target))
    waits = bool(target.waiting) or running < target.need
    if not waits:
        were = sum(bool(pod.spec.node_name) for pod in before)
        state = "Running" if were >= running else "Starting"
        wanted = max(len(target.pods), target.need)
        others = _others(world, target, "")
        return Now(
            state=state,
            running=running,
            wanted=wanted,
            nodes=dict(nodes),
            evictions=evictions,
            ignored=ignored,
            ignored_of_queues=of_queues,
            others=others,
        )
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
        ignored=ignored,
        ignored_of_queues=of_queues,
        others=_others(world, target, reason),
    )


def _others(world: World, target: Target, reason: str) -> str:
    """How the other PodGroups of the workload stand, of which one waits for this reason."""
    if not target.others:
        return ""
    reasons = {job.name: str(job.reason.value) for job in world.report.pending}
    same = sum(reasons.get(group) == reason for group in target.others)
    different = [group for group in target.others if group in reasons and reasons[group] != reason]
    idle = len(target.others) - same - len(different)
    parts = [
        f"{same} wait{'s' * (same == 1)} for the same reason" if same else "",
        f"{len(different)} wait{'s' * (len(different) == 1)} for another reason ({summarize(different)})"
        if different
        else "",
        f"{idle} do{'es' * (idle == 1)} not wait" if idle else "",
    ]
    return f"its other {plural('PodGroup', len(target.others))}: {', '.join(part for part in parts if part)}"


def _ignored(world: World, target: Target) -> tuple[str, ...]:
    """What is ignored of the PodGroup and its pods, as their events say it; equal values of pods together."""
    unreadable = () if target.found is None else ignored_of_pod_group(target.found)
    group = dict.fromkeys((*(each.message for each in unreadable), *world.ignored("PodGroup", target.group)))
    names: dict[str, list[str]] = {}
    for pod in target.pods:
        values = (each.message for each in unreadable_of_pod(pod.metadata))
        for message in dict.fromkeys((*values, *world.ignored("Pod", pod.metadata.key))):
            names.setdefault(message, []).append(pod.metadata.name)
    of_group = [f"PodGroup {target.group}: {message}" for message in group]
    of_pods = [f"{plural('pod', len(pods))} {summarize(pods)}: {message}" for message, pods in names.items()]
    more = len(of_pods) - _MOST_VALUES
    return (*of_group, *of_pods[:_MOST_VALUES], *([f"{counted(more, 'more value')} of pods"] if more > 0 else ()))


def ignored_of_queues(world: World, queue: str) -> tuple[str, ...]:
    """What cannot be read or used of the queue and those above it."""
    return tuple(text for name in queues_above(world, queue) for text in world.ignored_of_queue(name))


def _why(world: World, target: Target) -> tuple[str, str]:
    if (found := refused_job(world, target)) is not None:
        return found[1].reason, found[1].message
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
    keys, pods = {pod.metadata.key for pod in target.pods}, world.captured("Pod", Pod)
    return [pod for pod in pods if pod.metadata.key in keys or (target.group and group_of(pod) == target.group)]


def captured_group(world: World, target: Target) -> PodGroup | None:
    """Its PodGroup as the cluster has it."""
    groups = world.captured("PodGroup", PodGroup)
    return next((group for group in groups if group.metadata.key == target.group), None)
