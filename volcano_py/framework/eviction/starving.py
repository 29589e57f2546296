"""Which jobs may have pods evicted for them in this cycle.

A job starves until it has its minimum. Between queues it is entitled to more: as long as its queue may take from
others, all its pods starve. So a job that comes late gets what its queue deserves, which those that came first hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np

from volcano_py.framework.job import Job
from volcano_py.framework.roles import minimums_first
from volcano_py.state.table.table import Rows

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


RECLAIMING: Final = frozenset({"reclaim", "gangreclaim"})
"""Actions in which queues take from each other."""


class Starving(msgspec.Struct, frozen=True, eq=False):
    """A job with its pending tasks in task order, what minimums of roles need first."""

    job: Job
    tasks: Rows


class Waiting(NamedTuple):
    """Admitted, valid jobs for which no pods are being evicted.

    Attributes:
        starving: those that starve, by queue.
        complete: those that have their minimum, and for the rest of which the action evicts nothing.
    """

    starving: dict[str, list[Starving]]
    complete: list[Starving]


def waiting_jobs(ssn: Session) -> Waiting:
    """The jobs with pods that wait for places."""
    found = Waiting({}, [])
    for job, rows in ssn.jobs_with_pending_tasks():
        if job.is_pending:
            continue
        starves = ssn.ask.job_starving(job)
        is_complete = not starves and job.ready + job.waiting >= job.min_member
        if not (starves or is_complete) or ssn.is_set_aside(job, rows) or ssn.reservations.awaits_victims(job):
            continue
        if is_complete or not _is_due(ssn, job, rows):
            found.complete.append(Starving(job, rows))
        else:
            work = Starving(job, minimums_first(ssn, job, ssn.ask.ordered_tasks(rows)))
            found.starving.setdefault(job.queue.name, []).append(work)
    return found


def counts_beyond_minimum(ssn: Session) -> bool:
    """Whether the action that runs evicts for pods beyond their job's minimum, too."""
    return ssn.action in RECLAIMING


def _is_due(ssn: Session, job: Job, rows: Rows) -> bool:
    """Whether the job's queue is due one of the pods, for a job that has its minimum: a queue that is due nothing may
    have thousands of such jobs."""
    if not counts_beyond_minimum(ssn) or not ssn.ask.gang_will_be_ready(job):
        return True
    if ssn.ask.overused(job.queue):
        return False
    _, firsts = np.unique(ssn.ledger.tasks.task_class[rows], return_index=True)
    return any(ssn.ask.preemptive(job.queue, rows[first : first + 1]) for first in firsts.tolist())


def allocate_follows(ssn: Session, action: str) -> bool:
    """Whether allocate runs after the action, so that it can take what is free by itself."""
    actions = ssn.configuration.actions
    return "allocate" in actions[actions.index(action) + 1 :] if action in actions else False
