"""Pods that another client deleted, as policies on PodEvicted see them.

A pod that the status counts and that does not exist has been lost, until it runs again. Once it is created again,
nothing else shows it. So losses for which a policy waits are noted in the Job's status, before the pods are created.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from volcano_py.jobs.members import Members
from volcano_py.jobs.model import JobEvent, VolcanoJob
from volcano_py.jobs.policies.evaluation import Lost, Occurrence, timeout_of

NOTE: Final = "evicted"
"""Key in `controlledResources`: `worker/1@2026-01-31T12:00:00+00:00 worker/3@…`."""

_MOST_NOTED: Final = 1000  # that is 50 KB; the policy that answers one of them is the same for the others of its task


def losses(job: VolcanoJob, members: Members, now: float) -> tuple[Lost, ...]:
    """Those that were noted and have not come back, and those that are new at the time `now`."""
    lost = {(loss.task, loss.index): loss for loss in _noted(job) if _is_missed(loss, job, members)}
    # The status counts them, too: they exist, and are not wanted any more.
    surplus = Counter(member.task for member in members.surplus)
    for task in job.spec.tasks:
        state = job.status.task_status_count.get(task.name)
        before = sum(state.phase.values()) - surplus[task.name] if state is not None else 0
        gone = min(before, task.replicas) - len(members.current[task.name])
        # Which ones they were is not recorded; pods are created from the first on.
        for index in islice(members.missing(task), max(0, gone)):
            lost.setdefault((task.name, index), Lost(task.name, index, now))
    return tuple(lost.values())


def note_of(job: VolcanoJob, lost: Sequence[Lost]) -> str:
    """What the status is to note of them; "" for nothing."""
    return " ".join(
        f"{loss.task}/{loss.index}@{datetime.fromtimestamp(int(loss.at), UTC).isoformat()}"
        for loss in islice((loss for loss in lost if _is_waited_for(loss, job)), _MOST_NOTED)
    )


def has_more_to_note(job: VolcanoJob, lost: Sequence[Lost]) -> bool:
    """Whether there are any that the status does not note yet."""
    return not set(note_of(job, lost).split()) <= set(job.status.controlled_resources.get(NOTE, "").split())


def _is_missed(loss: Lost, job: VolcanoJob, members: Members) -> bool:
    task = job.task(loss.task)
    if task is None or loss.index >= task.replicas:
        return False  # it is not wanted back
    back = members.current[task.name].get(loss.index)
    return back is None or back.phase == "Pending"


def _is_waited_for(loss: Lost, job: VolcanoJob) -> bool:
    return timeout_of(job, Occurrence(JobEvent.POD_EVICTED, loss.task, loss.index)) > 0


def _noted(job: VolcanoJob) -> Iterator[Lost]:
    """Unreadable entries are ignored."""
    for entry in job.status.controlled_resources.get(NOTE, "").split():
        where, _, moment = entry.partition("@")
        task, _, index = where.partition("/")
        try:
            yield Lost(task, int(index), datetime.fromisoformat(moment).timestamp())
        except ValueError:
            continue
