"""What jobs that were let in have been promised but do not hold yet: the «in-queue» sums of enqueue's votes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.names import QUEUE_ALLOCATION_GATE
from volcano_py.framework.session import Session
from volcano_py.plugins.shares import sums_by_group
from volcano_py.state.ledger import Rows
from volcano_py.state.snapshot import Phase
from volcano_py.state.status import ALLOCATED_STATUSES, FINISHED_STATUSES, SCHEDULED_STATUSES, TaskStatus


class Promises:
    """The jobs with a promise, and how much it is, as of the moment it is made.

    Attributes:
        rows: [K] rows of jobs in phase Inqueue, and of Running ones that hold their minimum of tasks and go on.
    """

    def __init__(self, ssn: Session) -> None:
        self._jobs = jobs = ssn.ledger.jobs
        rows = ssn.job_rows()
        rows = rows[jobs.has_min_resources[rows]]
        phase, counts, minimum = jobs.phase[rows], jobs.counts[rows], jobs.min_member[rows]
        scheduled = counts[:, SCHEDULED_STATUSES].sum(axis=1)
        # The phase that this cycle will end with: nobody is woken when a job that ends meanwhile no longer counts.
        is_running = (phase == Phase.RUNNING) | ((scheduled > 0) & (scheduled >= minimum))
        holds_minimum = counts[:, ALLOCATED_STATUSES].sum(axis=1) >= minimum
        has_ended = (scheduled > 0) & ~counts[:, ~FINISHED_STATUSES].any(axis=1)
        is_promised = np.where(is_running, holds_minimum & ~has_ended, True)
        self.rows: Rows = rows[((phase == Phase.INQUEUE) | (phase == Phase.RUNNING)) & is_promised]
        self._gated = _gated_requests(ssn)

    def outstanding(self, rows: Rows | int) -> NDArray[np.int64]:
        """[K, R] the part of their minResources that jobs do not hold, without what their gated pods ask for: those
        cannot start yet. [R] of a single one."""
        amounts = self._jobs.min_resources[rows]
        if self._gated is not None:
            amounts = np.maximum(amounts - self._gated[rows], 0)
        lacking: NDArray[np.int64] = np.maximum(amounts - self._jobs.allocated[rows], 0)
        return lacking


def _gated_requests(ssn: Session) -> NDArray[np.int64] | None:
    """[J, R] what pending pods with scheduling gates ask for; None when there are none.

    A pod held back by Volcano's own gate alone is merely waiting for its queue, so it counts as if it had none.
    """
    tasks = ssn.ledger.tasks
    rows = np.flatnonzero(tasks.gated & (tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
    foreign = [row for row in rows.tolist() if set(ssn.task_info(row).gates) != {QUEUE_ALLOCATION_GATE}]
    if not foreign:
        return None
    requests = ssn.ledger.classes.request[tasks.task_class[foreign]]
    return sums_by_group(tasks.job[foreign], requests, ssn.ledger.jobs.size)
