"""Why nothing more of a Job is created: `status.state` says it until the cause is gone."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from volcano_py.jobs.model import JobState, VolcanoJob
from volcano_py.jobs.names import FAILED_CREATE, PLUGIN_ERROR, POD_GROUP_ERROR, PVC_ERROR

INVALID: Final = "InvalidJob"
"""Reason of a job for which nothing can be created as it is written."""
OTHER_SCHEDULER: Final = "OtherScheduler"
"""Reason of a job whose pods no scheduler of this installation places; another one may yet admit its PodGroup."""
REFUSED: Final = frozenset({FAILED_CREATE, POD_GROUP_ERROR, PLUGIN_ERROR})
"""Reasons of a job whose objects the API server refuses, or whose names are taken, as in the events that report it."""
_SEEN: Final = (PVC_ERROR, OTHER_SCHEDULER)  # reasons with causes that are objects
LONGEST_MESSAGE: Final = 1024  # characters, as in conditions of Kubernetes


class Refusal(msgspec.Struct, frozen=True):
    """`reason`: one of those above. `message`: the field that is wrong, or the API server's answer; "" where a capture
    leaves messages out."""

    reason: str
    message: str


def claim_missing(namespace: str, name: str) -> Refusal:
    """The job waits for a claim that it names."""
    return Refusal(PVC_ERROR, f"PersistentVolumeClaim {namespace}/{name} does not exist; create it")


def other_scheduler(job: VolcanoJob, own: str, names: Collection[str]) -> Refusal | None:
    """Why the job, with its defaults, is none of the schedulers of these `names`, of which one is `own`; None if it is,
    or without names."""
    name = job.spec.scheduler_name
    if not names or name in names:
        return None
    return Refusal(
        OTHER_SCHEDULER,
        f"schedulerName is {name}; this scheduler is {own}: create the Job again with schedulerName {own}, unless a "
        f"scheduler {name} runs and admits its PodGroup",
    )


def refusal_of(state: JobState) -> Refusal | None:
    """What the status says; None for a job whose pods can be created."""
    is_one = state.reason in (INVALID, *_SEEN) or state.reason in REFUSED
    return Refusal(state.reason, state.message) if is_one else None


def unseen_refusal(state: JobState) -> Refusal | None:
    """What the status says, where a copy of the cluster does not have the cause: it has claims, but no webhooks."""
    return None if state.reason in _SEEN else refusal_of(state)


def with_refusal(state: JobState, refusal: Refusal | None) -> JobState:
    """The state that says this; None takes back what an earlier refusal has left."""
    if refusal is not None:
        return msgspec.structs.replace(state, reason=refusal.reason, message=refusal.message[:LONGEST_MESSAGE])
    return state if refusal_of(state) is None else msgspec.structs.replace(state, reason="", message="")


def accepted(job: VolcanoJob) -> VolcanoJob:
    """The job as if nothing of it had been refused."""
    status = msgspec.structs.replace(job.status, state=with_refusal(job.status.state, None))
    return msgspec.structs.replace(job, status=status)
