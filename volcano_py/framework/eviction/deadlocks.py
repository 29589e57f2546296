"""Gangs that block each other: each holds places, but fewer than its minimum, and has no room for the rest.

None of them does any work, so shares and priorities have no say: those that come last in order give way, whole, to the
first that is complete then. A gang that gave way holds nothing, and one that is complete is not touched, so this comes
to an end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import numpy as np

from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.plan import EvictionPlan
from volcano_py.framework.eviction.scheme import Scheme
from volcano_py.framework.eviction.starving import Starving
from volcano_py.framework.job import Job, Task
from volcano_py.framework.session import Session
from volcano_py.state.table.table import Rows


class Deadlocks:
    """See the module. Made for one run of the action that `scheme` is of; `by_queue` are the jobs that starve."""

    def __init__(
        self, ssn: Session, pool: Candidates, scheme: Scheme, by_queue: Mapping[str, Iterable[Starving]]
    ) -> None:
        self._ssn = ssn
        self._pool = pool
        self._scheme = scheme
        self._is_within_queue = scheme.point == "preemptable"
        self._starving = [work.job for works in by_queue.values() for work in works]

    def resolve(self, work: Starving) -> bool:
        """Complete the job with the places of gangs that are deadlocked with it and come later. True when that was
        done."""
        gangs, scheme = self._pool.gangs, self._scheme
        if not scheme.takes_whole or not gangs.take_whole or not gangs.is_deadlocked(work.job.row):
            return False
        among_deadlocked = msgspec.structs.replace(
            scheme,
            candidates=self._behind,
            may_take=lambda _queue, _rows: True,
            only_lesser=False,
            among_deadlocked=True,
        )
        plan = EvictionPlan(self._ssn, self._pool, among_deadlocked, work.job)
        return plan.carry_out(work.tasks, keep_without_victims=False)

    def rivals(self, task: Task) -> list[Job]:
        """The gangs that are deadlocked with the task's job, in order: of its queue, or for reclaim of all others."""
        gangs, own = self._pool.gangs, task.job
        if not gangs.is_deadlocked(own.row):
            return []
        others = [job for job in self._starving if job is not own and (job.queue is own.queue) is self._is_within_queue]
        return sorted((job for job in others if gangs.is_deadlocked(job.row)), key=self.order)

    def order(self, job: Job) -> tuple[Any, ...]:
        """The key that gangs are ordered by: the more important job first, then as the action takes them."""
        ask = self._ssn.ask
        return -job.priority, ask.full_queue_key(job.queue), ask.job_key(job)

    def _behind(self, task: Task) -> Rows:
        """The pods of those that come later than the task's job."""
        own = self.order(task.job)
        later = [job.row for job in self.rivals(task) if self.order(job) > own]
        rows = self._scheme.candidates(task)
        return rows[np.isin(self._ssn.ledger.tasks.job[rows], later)]
