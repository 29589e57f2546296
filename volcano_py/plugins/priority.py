"""priority: jobs and tasks of higher priority first, and those of lower priority as victims."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Job, Task
from volcano_py.framework.plugin import Key, Plugin
from volcano_py.framework.session import Session
from volcano_py.state.table.table import Rows


class Priority(Plugin):
    """Orders by PriorityClass values; equal priority never preempts."""

    name = "priority"
    sees_jobs_alike = True
    evictions_last = True

    def on_session_open(self, ssn: Session) -> None:
        self._tasks = ssn.ledger.tasks
        self._jobs = ssn.ledger.jobs

    def task_order(self, rows: Rows) -> NDArray[np.float64]:
        return -self._tasks.priority[rows].astype(np.float64)

    def job_order(self, job: Job) -> Key:
        return -job.priority

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:
        """Of other jobs those of lower priority; of the preemptor's own job its tasks of lower priority."""
        jobs = self._tasks.job[candidates]
        among_own = self._tasks.priority[candidates] < preemptor.priority
        among_others = self._jobs.priority[jobs] < preemptor.job.priority
        return np.where(jobs == preemptor.job.row, among_own, among_others)

    def possible_victims(self, point: str, task: Task, candidates: Rows) -> NDArray[np.bool_] | None:
        return self.preemptable(task, candidates) if point == "preemptable" else None

    def job_starving(self, job: Job) -> bool:
        """Until every task of it has a place."""
        return job.ready + job.waiting < job.tasks
