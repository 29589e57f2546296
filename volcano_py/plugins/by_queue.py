"""What the jobs of queues hold and want, for whoever adds it up: by queue, or up a tree of queues."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.session import Session
from volcano_py.plugins.promises import Promises
from volcano_py.plugins.shares import sums_by_group
from volcano_py.state.status import TaskStatus


class ByQueue(NamedTuple):
    """`amounts` [K, R] of the queues in `slots` [K], in which a queue may stand many times."""

    slots: NDArray[np.int32]
    amounts: NDArray[np.int64]

    def sums(self, size: int) -> NDArray[np.int64]:
        """[size, R] by slot."""
        return sums_by_group(self.slots, self.amounts, size)


def allocated(ssn: Session) -> ByQueue:
    """What jobs hold now."""
    rows, jobs = ssn.job_rows(), ssn.ledger.jobs
    return ByQueue(jobs.queue[rows], jobs.allocated[rows])


def surplus(ssn: Session) -> ByQueue:
    """What jobs hold beyond their minResources."""
    rows, jobs = ssn.job_rows(), ssn.ledger.jobs
    return ByQueue(jobs.queue[rows], np.maximum(jobs.allocated[rows] - jobs.min_resources[rows], 0))


def promised(ssn: Session, promises: Promises) -> ByQueue:
    """What jobs that were let in may still claim."""
    rows = promises.rows
    return ByQueue(ssn.ledger.jobs.queue[rows], promises.outstanding(rows))


def pending(ssn: Session) -> ByQueue:
    """Requests of pending tasks. Those that can never be placed are left out: they would take a share for nothing."""
    tasks, jobs = ssn.ledger.tasks, ssn.ledger.jobs
    rows = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
    rows = rows[jobs.known[tasks.job[rows]] & ~ssn.hopeless_classes[tasks.task_class[rows]]]
    return ByQueue(jobs.queue[tasks.job[rows]], ssn.ledger.classes.request[tasks.task_class[rows]])
