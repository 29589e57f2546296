"""Which jobs may have pods evicted for them in this cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from volcano_py.framework.job import Job
from volcano_py.framework.roles import minimums_first
from volcano_py.state.table.ledger import Rows

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


class Starving(msgspec.Struct, frozen=True, eq=False):
    """A job with its pending tasks in task order, what minimums of roles need first."""

    job: Job
    tasks: Rows


def starving_jobs(ssn: Session) -> dict[str, list[Starving]]:
    """By queue: admitted, valid jobs that starve, unless pods are still being evicted for them."""
    found: dict[str, list[Starving]] = {}
    for job, rows in ssn.jobs_with_pending_tasks():
        if job.is_pending or not ssn.ask.job_starving(job) or ssn.is_set_aside(job, rows):
            continue
        if ssn.reservations.awaits_victims(job):
            continue
        found.setdefault(job.queue.name, []).append(
            Starving(job, minimums_first(ssn, job, ssn.ask.ordered_tasks(rows)))
        )
    return found


def allocate_follows(ssn: Session, action: str) -> bool:
    """Whether allocate runs after the action, so that it can take what is free by itself."""
    actions = ssn.configuration.actions
    return "allocate" in actions[actions.index(action) + 1 :] if action in actions else False
