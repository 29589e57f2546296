"""What admitted jobs were promised but do not hold yet: the inqueue sums of the votes on enqueue."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.names import QUEUE_ALLOCATION_GATE
from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import sums_by_group
from volcano_py.plugins.queues.base_account import BaseAccount
from volcano_py.plugins.queues.promise_bounds import PromiseBounds
from volcano_py.state.snapshot import Phase
from volcano_py.state.status import (
    ALLOCATED_STATUSES,
    FINISHED_STATUSES,
    SCHEDULED_STATUSES,
    VALID_STATUSES,
    TaskStatus,
)
from volcano_py.state.table.axis import PODS
from volcano_py.state.table.table import Rows

Amounts = NDArray[np.int64]


class InqueueRequests:
    """The jobs with a promise, and how much it is, as of the moment it is made.

    A job is promised its minResources, without what it holds and what its gated pods ask for. When its pods
    should have been created, it is promised what those that wait ask for, if the gang has all its pods.

    Attributes:
        rows: [K] rows of jobs in phase Inqueue, and of Running ones that hold their minimum of tasks and go on.
    """

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._jobs = jobs = ssn.ledger.jobs
        rows = ssn.job_rows()
        rows = rows[jobs.has_min_resources[rows]]
        phase, counts, minimum = jobs.phase[rows], jobs.counts[rows], jobs.min_member[rows]
        scheduled = counts[:, SCHEDULED_STATUSES].sum(axis=1)
        # The phase that this cycle will end with: no cycle starts when a job that ends meanwhile no longer counts.
        is_running = (phase == Phase.RUNNING) | ((scheduled > 0) & (scheduled >= minimum))
        holds_minimum = counts[:, ALLOCATED_STATUSES].sum(axis=1) >= minimum
        has_ended = (scheduled > 0) & ~counts[:, ~FINISHED_STATUSES].any(axis=1)
        is_promised = np.where(is_running, holds_minimum & ~has_ended, True)
        self.rows: Rows = rows[((phase == Phase.INQUEUE) | (phase == Phase.RUNNING)) & is_promised]
        self._gated = _gated_requests(ssn)
        self._limited: Rows = self.rows[:0]
        self._limits: Amounts = np.zeros((0, len(ssn.axis)), dtype=np.int64)
        self._limit_to_pods()
        self._bounds: PromiseBounds | None = None
        self._added: dict[int, None] = {}

    def outstanding(self, rows: Rows | int) -> Amounts:
        """[K, R] what jobs are promised; [R] of a single one."""
        amounts = self._jobs.min_resources[rows]
        if self._gated is not None:
            amounts = np.maximum(amounts - self._gated[rows], 0)
        lacking: Amounts = np.maximum(amounts - self._jobs.allocated[rows], 0)
        if len(self._limited) and isinstance(rows, np.ndarray):
            order = np.searchsorted(self._limited, rows)
            known = np.minimum(order, len(self._limited) - 1)
            is_limited = self._limited[known] == rows
            lacking[is_limited] = np.minimum(lacking[is_limited], self._limits[known[is_limited]])
        return lacking

    def add(self, job: Job) -> Amounts:
        """[R] what a job is promised that was admitted just now. Every plugin that shares this reports the job."""
        amounts = self.outstanding(job.row)
        if job.row in self._added:
            return amounts
        self._added[job.row] = None
        if self._bounds is not None:
            self._bounds.add(job.row, amounts)
        return amounts

    def of_queue(self, slot: int) -> Amounts:
        """[R] what jobs of the queue are promised together, with those admitted in this cycle."""
        rows = np.concatenate((self.rows, np.array([*self._added], dtype=np.intp)))
        rows = rows[self._jobs.queue[rows] == slot]
        together: Amounts = sums_by_group(np.zeros(len(rows), dtype=np.intp), self.outstanding(rows), 1)[0]
        return together

    def counting(self, job: Job, account: BaseAccount, slots: Rows) -> list[int]:
        """[R] what of the promises of a queue, whose slots and those below it are `slots`, counts against `job` when it
        is to be admitted.

        What is promised to the job for which nodes are held does not, unless the queue itself may have less than the
        cluster: others are kept from those nodes, and may have the rest.
        """
        less = self.bounds().without_effect(job, slots)
        apart = self._apart(slots)
        if apart is not None:
            columns = zip(less, apart, account.real_capability, self._ssn.total.tolist(), strict=True)
            less = [max(each, held if most >= total else 0) for each, held, most, total in columns]
        return [promised - each for promised, each in zip(account.inqueue, less, strict=True)]

    def _apart(self, slots: Rows) -> list[int] | None:
        """[R] what is promised to the job for which nodes are held, if it is of one of these queues."""
        row = self._ssn.findings.nodes_held_for
        if row is None or not (self.rows == row).any() or not (slots == self._jobs.queue[row]).any():
            return None
        amounts: list[int] = self.outstanding(row).tolist()
        return amounts

    def bounds(self) -> PromiseBounds:
        """Which promises count; computed when the first job of a cycle would be refused."""
        if self._bounds is None:
            rows = np.concatenate((self.rows, np.array([*self._added], dtype=np.intp)))
            self._bounds = PromiseBounds(self._ssn, rows, self.outstanding(rows))
        return self._bounds

    def _limit_to_pods(self) -> None:
        """Find jobs whose pods ask for less than is promised though they have had the time to be created."""
        counted = np.arange(len(self._ssn.axis)) != PODS
        promised = self.outstanding(self.rows)
        lacks = promised[:, counted].any(axis=1)
        rows, promised = self.rows[lacks], promised[lacks]
        if not len(rows):
            return
        asked = self._requests_of_waiting(rows)
        unused = (promised > asked)[:, counted].any(axis=1)
        too_few = self._jobs.counts[rows][:, VALID_STATUSES].sum(axis=1) < self._jobs.min_member[rows]
        asked[too_few] = 0
        is_over = self._ssn.promise_times.is_over
        over = [place for place in np.flatnonzero(unused).tolist() if is_over(int(rows[place]))]
        self._limited, self._limits = rows[over], asked[over]

    def _requests_of_waiting(self, rows: Rows) -> Amounts:
        """[K, R] what the pending pods of these jobs ask for, apart from those that others gate."""
        tasks, size = self._ssn.ledger.tasks, self._jobs.size
        is_asked = np.zeros(size, dtype=np.bool_)
        is_asked[rows] = True
        waiting = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
        waiting = waiting[is_asked[tasks.job[waiting]]]
        requests = self._ssn.ledger.classes.request[tasks.task_class[waiting]]
        sums = sums_by_group(tasks.job[waiting], requests, size)
        if self._gated is not None:
            sums -= self._gated
        return sums[rows]


def _gated_requests(ssn: Session) -> Amounts | None:
    """[J, R] what pending pods with scheduling gates ask for; None when there are none.

    A pod held back by Volcano's own gate alone is only waiting for its queue, so it counts as if it had none.
    """
    tasks = ssn.ledger.tasks
    rows = np.flatnonzero(tasks.gated & (tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
    foreign = [row for row in rows.tolist() if set(ssn.task_info(row).gates) != {QUEUE_ALLOCATION_GATE}]
    if not foreign:
        return None
    requests = ssn.ledger.classes.request[tasks.task_class[foreign]]
    return sums_by_group(tasks.job[foreign], requests, ssn.ledger.jobs.size)
