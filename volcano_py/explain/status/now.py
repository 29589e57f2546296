"""How a workload stands by what the scheduler decides now, and the one reason that decides."""

from __future__ import annotations

from collections import Counter

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.pod_message import why_pod_waits
from volcano_py.api.wording.summarize import plural, summarize
from volcano_py.explain.model import Now
from volcano_py.explain.status import remarks
from volcano_py.explain.target import Target, as_captured, captured_group, job_of, queue_of, refused_job
from volcano_py.explain.world import World
from volcano_py.jobs.defaults import JobRules, with_defaults
from volcano_py.jobs.dependencies import waits_for_itself
from volcano_py.jobs.members import Members


def now(world: World, target: Target) -> Now:
    """Its state as the scheduler decides it now."""
    before = as_captured(world, target)
    theirs = {pod.metadata.uid for pod in before}
    evictions = tuple(effect.message for effect in world.evictions if effect.pod.uid in theirs)
    nodes = Counter(pod.spec.node_name for pod in target.pods if pod.spec.node_name)
    running = sum(nodes.values())
    need = 0 if remarks.is_without_replicas(world, target) else target.need
    waits = bool(target.waiting) or running < need
    if not waits:
        were = sum(bool(pod.spec.node_name) for pod in before)
        state, reason, message = ("Running" if were >= running else "Starting"), "", ""
    else:
        state, (reason, message) = ("Partly running" if running else "Waiting"), _why(world, target)
    return Now(
        state=state,
        running=running,
        wanted=max(len(target.pods), need),
        reason=reason,
        message=message,
        since=since(world, target) if waits else "",
        nodes=dict(nodes),
        lost_nodes=remarks.lost_nodes(world, nodes),
        evictions=evictions,
        ignored=remarks.ignored(world, target),
        ignored_of_queues=remarks.ignored_of_queues(world, queue_of(world, target)),
        others=_others(world, target, reason),
        hints=remarks.hints(world, target, waits=waits),
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


def _why(world: World, target: Target) -> tuple[str, str]:
    if (found := refused_job(world, target)) is not None:
        return found[1].reason, found[1].message
    for job in world.report.pending:
        if job.name == target.group:
            itself = _waits_for_itself(world, target) if job.reason is Reason.NOT_ENOUGH_TASKS else ""
            return str(job.reason.value), itself or job.message
    texts = [text for text in map(why_pod_waits, target.waiting) if text]
    if texts:
        reason, _, message = texts[0].partition(": ")
        return reason, message
    return Reason.NOT_YET_EVALUATED.value, _not_yet(target)


def _waits_for_itself(world: World, target: Target) -> str:
    """Why its Volcano Job never creates the pods that the gang lacks; "" where it may."""
    job = job_of(world, target)
    if job is None:
        return ""
    job = with_defaults(job, JobRules())
    text = waits_for_itself(job, Members.of(job, target.pods))
    return text and f"Job {job.metadata.key} waits for itself: {text}"


def _not_yet(target: Target) -> str:
    """What the scheduler has to wait for before it looks at the workload; never empty."""
    if target.group and target.found is None:
        return f"PodGroup {target.group} does not exist yet"
    if not target.pods:
        return "it has no pods yet"
    return "the scheduler has not evaluated it yet"


def since(world: World, target: Target) -> str:
    """When the newest condition that says that it waits became so, else when it was created. Of a Volcano Job without
    PodGroup and pods: since when it has been in its phase."""
    found = captured_group(world, target)
    conditions = [] if found is None else found.status.conditions
    times = [c.last_transition_time for c in conditions if c.type == "Unschedulable" and c.status == "True"]
    times += [] if found is None else [found.metadata.creation_timestamp]
    times += [pod.metadata.creation_timestamp for pod in target.waiting]
    if not times and (job := job_of(world, target)) is not None:
        times.append(job.status.state.last_transition_time)
    known = [moment for moment in times if moment is not None]
    return known[0].isoformat(timespec="seconds").replace("+00:00", "Z") if known else ""
