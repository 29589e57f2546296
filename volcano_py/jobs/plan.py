"""`plan`: given a Job and everything it created as seen now, what to do next. The one place that decides.

It is asked again after every step, until there is nothing left to do. A change of phase is a plan of its own: it is
written before anything is done about it, so that a controller can continue from there after a crash. Nothing else is
remembered; what has been done already is seen in the world and not asked for again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from volcano_py.api.effects import JsonObject
from volcano_py.api.names import UNSCHEDULABLE
from volcano_py.api.objects import Pod, PodGroup
from volcano_py.jobs import names
from volcano_py.jobs.actions import (
    Action,
    CreateGroup,
    CreatePods,
    DeleteGroup,
    DeleteJob,
    DeletePods,
    Prepare,
    UpdateGroup,
    WriteStatus,
)
from volcano_py.jobs.dependencies import may_start, never_starts, waits_for_itself
from volcano_py.jobs.event_note import EventNote
from volcano_py.jobs.group import group_changes, group_of, is_outdated
from volcano_py.jobs.members import Member, Members
from volcano_py.jobs.model import FINISHED, JobAction, JobEvent, JobPhase, VolcanoJob
from volcano_py.jobs.names import pod_name
from volcano_py.jobs.phases import ACTIVE, WITHOUT_GROUP, Step, asked_for, by_itself, retries_exhausted
from volcano_py.jobs.plugins.plugin import JobPlugin
from volcano_py.jobs.pods import claim_of, pod_of
from volcano_py.jobs.policies.edits import Edit
from volcano_py.jobs.policies.evaluation import TARGETED, Lost, Occurrence, Verdict, judge
from volcano_py.jobs.policies.losses import has_more_to_note, losses
from volcano_py.jobs.refusal import INVALID, Refusal
from volcano_py.jobs.status import TARGET, counted, is_target, stepped, target_of

MOST_AT_ONCE: Final = 500
"""Pods that one plan asks for: after about a second's worth of requests other jobs have their turn."""
MOST_BYTES_AT_ONCE: Final = 1 << 20
"""Of these pods together, as JSON: a pod may be a megabyte, and all of them are in memory at once."""
_NOT_ADMITTED: Final = frozenset({"", "Pending"})
"""Phases of a PodGroup in which its pods need not exist."""


class Request(msgspec.Struct, frozen=True):
    """What a Command orders for a job; `why` is for people."""

    action: JobAction
    why: str = "requested by a Command"


class World(msgspec.Struct, frozen=True):
    """A Job, with its defaults filled in, and what there is of it.

    `pods`: those that the job owns. `now`: seconds since the epoch. `priorities`: value of each PriorityClass.
    `prepared`: plugins' objects and claims are known to exist. `problem`: why nothing can be created for the
    job as it is written, or "". `refused`: the last answer of an API server that refuses what the job creates, or what
    is missing for it. `other`: that the job names another scheduler. `request`: what a Command asks for. `gone`: the
    last state of pods that the scheduler evicted and that do not exist any more, as far as it is known.
    """

    job: VolcanoJob
    pods: Sequence[Pod] = ()
    group: PodGroup | None = None
    now: float = 0.0
    plugins: Sequence[JobPlugin] = ()
    priorities: Mapping[str, int] = msgspec.field(default_factory=dict)
    prepared: bool = True
    problem: str = ""
    refused: Refusal | None = None
    other: Refusal | None = None
    request: Request | None = None
    gone: Sequence[Pod] = ()


class Plan(msgspec.Struct, frozen=True):
    """`actions` in their order; none: all is as it should be. `events`: of a step, recorded once it is written.

    `look_again_at`: when something is due though nothing changes (0: never). `waiting`: what keeps pods from being
    made.
    """

    actions: tuple[Action, ...] = ()
    events: tuple[EventNote, ...] = ()
    look_again_at: float = 0.0
    waiting: EventNote | None = None


def plan(world: World) -> Plan:
    """What to do next."""
    job = world.job
    if job.metadata.deletion_timestamp is not None:
        return Plan()  # the garbage collector takes everything along
    members = Members.of(job, world.pods, world.gone)
    if job.status.phase in FINISHED and (due := _expiry(job)) is not None and due <= world.now:
        return Plan((DeleteJob(),))
    edit = Edit.of(job, world.now)
    verdicts, later, lost = _verdicts(world, members, edit)
    stepping = _step(world, members, verdicts, edit, lost)
    if stepping is not None:
        return stepping
    refusal = _refusal(world, members) if job.status.phase in ACTIVE else None
    status = counted(job, members, refusal, _noted(job, edit, verdicts), lost)
    if has_more_to_note(job, lost):
        return Plan((WriteStatus(status, decides=True),))  # before the pods are created again
    # First of all: the counts are written even if a pod is refused.
    actions: list[Action] = [WriteStatus(status, decides=False)] if status != job.status else []
    actions += _clearing(world, members, verdicts)
    waiting: EventNote | None = None
    if job.status.phase in ACTIVE:
        made, waiting = _making(world, members)
        actions += made
    if job.status.phase in FINISHED:
        later = _expiry(job) or 0.0
    return Plan(tuple(actions), look_again_at=later, waiting=waiting)


def _refusal(world: World, members: Members) -> Refusal | None:
    """Why what the job lacks is not created."""
    if world.problem:
        return Refusal(INVALID, world.problem)
    lacks = world.group is None or any(members.is_short_of(task) for task in world.job.spec.tasks)
    is_admitted = world.group is not None and world.group.status.phase not in _NOT_ADMITTED
    return (world.refused or (None if is_admitted else world.other)) if lacks else None


def _expiry(job: VolcanoJob) -> float | None:
    """When to delete a finished job."""
    ttl, ended = job.spec.ttl_seconds_after_finished, job.status.state.last_transition_time
    return None if ttl is None or ended is None else ended.timestamp() + ttl


# -- what happened ---------------------------------------------------------------------------------------------------


def _verdicts(world: World, members: Members, edit: Edit | None) -> tuple[Sequence[Verdict], float, tuple[Lost, ...]]:
    """What is asked for, by a Command or by the policies, when to look again, and which pods were lost."""
    job, phase = world.job, world.job.status.phase
    lost = losses(job, members, world.now) if phase in ACTIVE else ()
    if world.request is not None:
        return (Verdict(world.request.action, Occurrence(JobEvent.COMMAND_ISSUED)),), 0.0, lost
    if phase is JobPhase.RESTARTING:
        # What fails while a part is restarted is restarted along with it, and does not count as another try.
        judgement = judge(job, members, now=world.now)
        return [verdict for verdict in judgement.verdicts if verdict.action in TARGETED], 0.0, ()
    if phase not in ACTIVE:
        return (), 0.0, ()
    phase_of_group, since = _standing(world.group)
    judgement = judge(
        job,
        members,
        now=world.now,
        group_phase=phase_of_group,
        group_since=since,
        lost=lost,
        edited=edit.since if edit is not None else None,
    )
    return judgement.verdicts, judgement.look_again_at, lost


def _noted(job: VolcanoJob, edit: Edit | None, verdicts: Sequence[Verdict]) -> Edit | None:
    """What is noted of edits when the phase stays: those of a job that creates pods, or restarts a part, may wait."""
    waits = not any(verdict.cause.event is JobEvent.JOB_UPDATED for verdict in verdicts)
    if job.status.phase is JobPhase.RESTARTING:
        waits = TARGET in job.status.controlled_resources
    elif job.status.phase not in ACTIVE:
        waits = False
    return edit if edit is None or waits else Edit(job.metadata.generation)


def _standing(group: PodGroup | None) -> tuple[str, float]:
    """Phase of the PodGroup, and since when a part of it cannot run, as its condition says (0: it does not)."""
    if group is None:
        return "", 0.0
    conditions = (each for each in group.status.conditions if each.type == UNSCHEDULABLE and each.status == "True")
    since = next((each.last_transition_time for each in conditions), None)
    return group.status.phase, since.timestamp() if since is not None else 0.0


# -- the next phase --------------------------------------------------------------------------------------------------


def _step(
    world: World, members: Members, verdicts: Sequence[Verdict], edit: Edit | None, lost: Sequence[Lost]
) -> Plan | None:
    job = world.job
    for verdict in verdicts:
        step = asked_for(job, verdict.action, counts=_is_a_try(verdict, verdicts))
        if step is not None and (not step.targeted or target_of(job, verdict)):
            return _asked_step(world, members, verdict, verdicts, step, edit)
    is_restarted = job.status.phase is JobPhase.RESTARTING and not retries_exhausted(job)
    if is_restarted and (_targets(job, members, verdicts) or members.outdated):
        return None  # first they are deleted
    step = by_itself(job, members)
    if step is None:
        return None
    # The job may go to and fro between waiting and running while a lost pod is given time to come back.
    lost = lost if step.phase in ACTIVE else ()
    return Plan((WriteStatus(stepped(job, members, step, world.now, edit=edit, lost=lost), decides=True),))


def _is_a_try(verdict: Verdict, verdicts: Sequence[Verdict]) -> bool:
    """Whether a restart that is asked for counts as one: yes, if any part of it is not for an eviction by the
    scheduler, of which a job cannot be to blame."""
    joined = [each for each in verdicts if each.action in TARGETED] if verdict.action in TARGETED else [verdict]
    return not all(each.cause.by_scheduler for each in joined)


def _asked_step(
    world: World, members: Members, verdict: Verdict, verdicts: Sequence[Verdict], step: Step, edit: Edit | None
) -> Plan:
    job = world.job
    if edit is not None and not step.targeted:
        edit = Edit(job.metadata.generation)  # whatever is created hereafter follows the edited spec
    why = world.request.why if world.request is not None else f"requested by a policy on {verdict.cause}"
    if step.phase is JobPhase.RESTARTING and not step.retries:
        why += "; this restart does not count toward maxRetry"
    # Pods that fail together are restarted together: one try, not one each.
    parts = [target_of(job, each) for each in verdicts if each.action in TARGETED] if step.targeted else []
    status = stepped(
        job,
        members,
        replace(step, why=why, reason=verdict.action.value),
        world.now,
        " ".join(dict.fromkeys(filter(None, parts))),
        edit,
    )
    event = EventNote("Normal", names.EXECUTE_ACTION, f"{verdict.action}: {why}")
    return Plan((WriteStatus(status, decides=True),), (event,))


def _targets(job: VolcanoJob, members: Members, verdicts: Sequence[Verdict]) -> list[Member]:
    """Pods that a targeted restart has still to delete: those of the parts it is about, and of what has failed since.

    All of them were there before it was decided, because none is created while it lasts.
    """
    begun = job.status.controlled_resources.get(TARGET, "").split()
    more = (target_of(job, verdict) for verdict in verdicts if verdict.action in TARGETED)
    parts = frozenset(filter(None, (*begun, *more)))
    return [member for member in (members.all_current if parts else ()) if is_target(parts, job, member)]


# -- what the phase asks for -----------------------------------------------------------------------------------------


def _clearing(world: World, members: Members, verdicts: Sequence[Verdict]) -> list[Action]:
    """Deletions of what is not to be there in the job's phase."""
    job, group, phase = world.job, world.group, world.job.status.phase
    if phase in WITHOUT_GROUP:
        actions = _deletion(members.alive, f"the job is {phase}")
        return actions + (_group_deletion(group) if group is not None else [])
    actions = _deletion(members.outdated, "the job is restarted")
    if phase is JobPhase.RESTARTING:
        actions += _deletion(_targets(job, members, verdicts), "a part of the job is restarted")
    actions += _deletion(members.surplus, "replicas were lowered")
    if group is not None and is_outdated(job, group):
        actions += _group_deletion(group)
    return actions


def _making(world: World, members: Members) -> tuple[list[Action], EventNote | None]:
    """What to create in an active phase, and what keeps pods from being created."""
    job, group = world.job, world.group
    if world.problem:
        return [], EventNote("Warning", names.JOB_STATUS_ERROR, world.problem)
    if not world.prepared:
        return [_preparation(world)], None
    wanted = group_of(job, world.priorities)
    if group is None:
        return [CreateGroup(wanted)], None
    if group.metadata.deletion_timestamp is not None or is_outdated(job, group):
        return [], _pending("the old PodGroup is being deleted; a new one is created after that")
    actions: list[Action] = []
    if changes := group_changes(group, wanted):
        actions.append(UpdateGroup(group.metadata.name, group.metadata.uid, changes))
    if group.status.phase in _NOT_ADMITTED:
        waiting = f"pods are created when PodGroup {group.metadata.name} is admitted to queue {group.spec.queue}"
        return actions, _pending(waiting) if any(members.is_short_of(task) for task in job.spec.tasks) else None
    bodies, broken = _missing_pods(world, members)
    if bodies:
        actions.append(CreatePods(tuple(bodies)))
    if broken:
        return actions, EventNote("Warning", names.PLUGIN_ERROR, broken)
    if never := never_starts(job, members):
        return actions, EventNote("Warning", names.DEPENDENCY_FAILED, never)
    return actions, _pending(waiting) if (waiting := waits_for_itself(job, members)) else None


def _pending(message: str) -> EventNote:
    return EventNote("Normal", names.POD_GROUP_PENDING, message)


def _missing_pods(world: World, members: Members) -> tuple[list[JsonObject], str]:
    """The next pods to be created, and what went wrong with those that cannot be."""
    job, taken = world.job, members.names
    bodies: list[JsonObject] = []
    broken, tried, size = "", 0, 0
    for task in job.spec.tasks:
        if not members.is_short_of(task) or not may_start(task, members):
            continue
        for index in members.missing(task):
            name = pod_name(job.metadata.name, task.name, index)
            if name in taken:
                continue  # its predecessor is not gone yet
            if tried == MOST_AT_ONCE or size > MOST_BYTES_AT_ONCE:
                return bodies, broken
            tried += 1
            try:
                body = pod_of(job, task, index, world.plugins)
                size += len(msgspec.json.encode(body))
                bodies.append(body)
            except Exception as error:
                # A plugin, or a template that is none: it concerns this pod alone.
                broken = broken or f"pod {name} cannot be created: {type(error).__name__}: {error}"
    return bodies, broken


def _preparation(world: World) -> Prepare:
    """The PodGroup is created last: once it exists, only objects that follow the job are checked again."""
    job, begun = world.job, world.group is not None
    objects = (kept for plugin in world.plugins for kept in plugin.objects(job))
    return Prepare(
        objects=tuple(kept for kept in objects if kept.follows_job or not begun),
        claims=tuple(
            claim_of(job, number, volume)
            for number, volume in enumerate(job.spec.volumes)
            if volume.volume_claim is not None and not volume.volume_claim_name and not begun
        ),
        awaited_claims=tuple(volume.volume_claim_name for volume in job.spec.volumes if volume.volume_claim_name),
    )


def _deletion(members: Iterable[Member], why: str) -> list[Action]:
    pods = tuple((member.name, member.pod.metadata.uid) for member in members)
    return [DeletePods(pods, why)] if pods else []


def _group_deletion(group: PodGroup) -> list[Action]:
    if group.metadata.deletion_timestamp is not None:
        return []
    return [DeleteGroup(group.metadata.name, group.metadata.uid)]
