"""Pods that another client deleted, as policies on PodEvicted see them.

A pod that the status counts and that does not exist has been lost, until it runs again. Once it is created again,
nothing else shows it. So losses for which a policy waits are noted in the Job's status, before the pods are created.

Pods that the scheduler evicts have a condition that says so; it is written before they are deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Final

from volcano_py.jobs.members import Members
from volcano_py.jobs.model import JobEvent, VolcanoJob
from volcano_py.jobs.policies.evaluation import Lost, Occurrence, timeout_of

NOTE: Final = "evicted"
"""Key in `controlledResources`: `worker/1@2026-01-31T12:00:00+00:00 worker/3@…`; pods that the scheduler evicted have
`/scheduler` behind that."""
_BY_SCHEDULER: Final = "scheduler"

_MOST_NOTED: Final = 1000  # that is 50 KB; the policy that answers one of them is the same for the others of its task


def losses(job: VolcanoJob, members: Members, now: float) -> tuple[Lost, ...]:
    """Those that were noted and have not come back, and those that are new at the time `now`."""
    lost = {(loss.task, loss.index): loss for loss in _noted(job) if _is_missed(loss, job, members)}
    new = [place for place in _newly_gone(job, members, lost.keys()) if place not in lost]
    # The scheduler evicts the pods of a job together. So when one of them shows that, the others went the same way,
    # even if they were gone before a controller looked.
    by_scheduler = any(index in members.victims.get(task, ()) for task, index in new)
    lost.update({(task, index): Lost(task, index, now, by_scheduler) for task, index in new})
    return tuple(lost.values())


def _newly_gone(job: VolcanoJob, members: Members, noted: Collection[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Task and number of each pod that the status counts and that is not there; `noted` are those known before."""
    # The status counts them, too: they exist, and are not wanted any more.
    surplus = Counter(member.task for member in members.surplus)
    for task in job.spec.tasks:
        state = job.status.task_status_count.get(task.name)
        before = sum(state.phase.values()) - surplus[task.name] if state is not None else 0
        current = members.current[task.name]
        gone = min(before, task.replicas) - len(current)
        if gone <= 0:
            continue
        # Which ones they were is not recorded: those that the scheduler evicted, then from the first on, as pods are
        # created.
        victims = members.victims.get(task.name, frozenset()) - current.keys()
        victims -= {index for name, index in noted if name == task.name}
        others = (index for index in members.missing(task) if index not in victims)
        for index in islice(chain(sorted(victims), others), gone):
            yield task.name, index


def note_of(job: VolcanoJob, lost: Sequence[Lost]) -> str:
    """What the status is to note of them; "" for nothing."""
    return " ".join(
        f"{loss.task}/{loss.index}@{datetime.fromtimestamp(int(loss.at), UTC).isoformat()}"
        + (f"/{_BY_SCHEDULER}" if loss.by_scheduler else "")
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
        moment, _, by = moment.partition("/")
        try:
            yield Lost(task, int(index), datetime.fromisoformat(moment).timestamp(), by == _BY_SCHEDULER)
        except ValueError:
            continue
