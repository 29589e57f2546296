"""Places that pods were evicted for: kept from cycle to cycle, until they are taken or a deadline passes.

A promise is the pod's status.nominatedNodeName, so it outlives a restart of the scheduler. Whoever is promised a place
goes first when places are given; nobody else gets what the victims free before it had its turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from volcano_py.framework.job import Job
from volcano_py.state.status import TaskStatus

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

# Seconds that a promise holds after it was made, or after the last terminating pod of the node should have been gone
# (its deletionTimestamp has the grace period in it). Kubelets are late by seconds, and a node that is lost never frees
# anything.
HELD_FOR: Final = 60.0


class Reservations:
    """What is promised as of the beginning of the cycle.

    Attributes:
        jobs: rows of jobs with pending tasks whose promise holds.
    """

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        tasks = ssn.ledger.tasks
        self._deadlines: dict[int, float] = {}
        self._awaited: set[int] = set()
        rows = np.flatnonzero(tasks.nominated & (tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
        latest = self._latest_leavers() if len(rows) else {}
        for row in rows.tolist():
            node = ssn.nodes.rows.get(ssn.task_info(row).nominated_node)
            if node is None:
                continue
            since = float(tasks.nominated_since[row])
            deadline = max(since, latest.get(node, 0.0)) + HELD_FOR
            if deadline > ssn.now:
                self._deadlines[row] = deadline
                if node in latest:
                    self._awaited.add(int(tasks.job[row]))
        self.jobs = frozenset(tasks.job[list(self._deadlines)].tolist())

    def holds(self, row: int) -> bool:
        """Whether a task has a promise that holds."""
        return row in self._deadlines

    def awaits_victims(self, job: Job) -> bool:
        """Whether pods are still terminating on a node that is promised to the job: no more are evicted for it."""
        return job.row in self._awaited

    def next_deadline(self) -> float:
        """When the first promise ends, of those made or not kept in this cycle; 0 when there is none."""
        status = self._ssn.ledger.tasks.status
        open_status = (TaskStatus.PENDING, TaskStatus.PIPELINED)
        deadlines = [until for row, until in self._deadlines.items() if status[row] in open_status]
        if self._ssn.nominations:
            deadlines.append(self._ssn.now + HELD_FOR)
        return min(deadlines, default=0.0)

    def _latest_leavers(self) -> dict[int, float]:
        """Node row → when the last of its terminating pods should be gone."""
        tasks = self._ssn.ledger.tasks
        rows = np.flatnonzero((tasks.status == TaskStatus.RELEASING) & (tasks.node >= 0))
        latest: dict[int, float] = {}
        for node, moment in zip(tasks.node[rows].tolist(), tasks.leaves_at[rows].tolist(), strict=True):
            latest[node] = max(latest.get(node, 0.0), moment)
        return latest
