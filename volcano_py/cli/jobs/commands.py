"""Commands for a job's controller, and when they have an effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from volcano_py.api.effects import JsonObject
from volcano_py.jobs.model import BATCH_API, FINISHED, JOB_KIND, JobAction, JobPhase, VolcanoJob
from volcano_py.jobs.phases import asked_for, has_no_try_left
from volcano_py.operator.kube_api import BUS_API

_CAN_BE_RESUMED: Final = frozenset({JobPhase.ABORTING, JobPhase.ABORTED})


@dataclass(frozen=True, slots=True)
class Ask:
    """A verb and its action."""

    verb: str
    action: JobAction
    doing: str


SUSPEND: Final = Ask("suspend", JobAction.ABORT, "suspended")
RESUME: Final = Ask("resume", JobAction.RESUME, "resumed")


def objection(ask: Ask, job: VolcanoJob) -> str:
    """Why the controller would do nothing, or end the job instead; empty if it would do what is asked."""
    phase, who = job.status.phase, f"job {job.metadata.key}"
    if asked_for(job, ask.action) is not None:
        if ask is RESUME and has_no_try_left(job):
            return (
                f"{who} would be Failed: to be resumed counts as a try, {job.status.retry_count} have been, and"
                f" spec.maxRetry is {job.spec.max_retry}; delete it, and create it again with a larger spec.maxRetry"
            )
        return ""
    if ask is RESUME:
        return f"{who} is {phase or 'new'}, not suspended: there is nothing to resume"
    if phase in FINISHED:
        return f"{who} has ended ({phase}): there is nothing to suspend; `volcano-py job delete` deletes it"
    if phase in _CAN_BE_RESUMED:
        return f"{who} is {phase} already; `volcano-py job resume` resumes it"
    if phase is JobPhase.RESTARTING:
        return (
            f"{who} is Restarting, and takes no Command until its old pods are gone; ask again when it is Pending or"
            " Running"
        )
    return f"{who} is {phase} and about to end: there is nothing to suspend"


def command_for(ask: Ask, job: VolcanoJob) -> JsonObject:
    """The Command, which goes with its job."""
    metadata = job.metadata
    target = {"apiVersion": BATCH_API, "kind": JOB_KIND, "name": metadata.name, "uid": metadata.uid, "controller": True}
    return {
        "apiVersion": BUS_API,
        "kind": "Command",
        "metadata": {
            "generateName": f"{metadata.name}-{ask.verb}-",
            "namespace": metadata.namespace,
            "ownerReferences": [target],
        },
        "action": str(ask.action),
        "target": target,
        "reason": "CommandLine",
        "message": f"volcano-py job {ask.verb}",
    }
