"""drf: dominant resource fairness between jobs.

A job's share is the largest part it holds of any resource of the cluster; the job with the least goes first.
(Ghodsi et al., Dominant Resource Fairness, NSDI 2011.)
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Job, Placement, Task
from volcano_py.framework.plugin import Key, Plugin
from volcano_py.framework.session import Session
from volcano_py.plugins.shares import dominant_share, sums_up_to
from volcano_py.state.ledger import Rows

# Shares closer than this count as equal when victims are sought (Volcano's shareDelta).
_SAME_SHARE: Final = 1e-6


class Drf(Plugin):
    """Jobs only; with hierarchical queues (`enableHierarchy`) it would own the order of queues too."""

    name = "drf"
    unsupported_flags = {"hierarchy": "hierarchical fair share between queues is not available yet"}

    def on_session_open(self, ssn: Session) -> None:
        self._tasks = ssn.ledger.tasks
        self._requests = ssn.ledger.classes.request
        self._total = ssn.total
        self._totals = [float(amount) for amount in ssn.total.tolist()]
        # Own sums: a task that waits for resources to be released counts here, but not in the ledger's `allocated`.
        self._allocated = ssn.ledger.jobs.allocated.copy()
        self._shares = dominant_share(self._allocated, self._total)

    def job_order(self, job: Job) -> Key:
        return float(self._shares[job.row])

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:
        """Pods of jobs that, without the pod and those before it, still hold as much as the preemptor's job with it."""
        wanted = self._allocated[preemptor.job.row] + preemptor.task_class.request
        own_share = float(dominant_share(wanted[None], self._total)[0])
        jobs = self._tasks.job[candidates]
        taken = sums_up_to(jobs, self._requests[self._tasks.task_class[candidates]])
        shares_left = dominant_share(self._allocated[jobs] - taken, self._total)
        victims: NDArray[np.bool_] = shares_left >= own_share - _SAME_SHARE
        return victims

    def on_allocate(self, placement: Placement) -> None:
        self._book(placement.job.row, placement.request)

    def on_deallocate(self, placement: Placement) -> None:
        self._book(placement.job.row, -placement.request)

    def _book(self, row: int, amount: NDArray[np.int64]) -> None:
        self._allocated[row] += amount
        # `dominant_share` for a single row, once for every placement: plain floats are ten times as fast
        parts = zip(self._allocated[row].tolist(), self._totals, strict=True)
        self._shares[row] = max((float(held) / total for held, total in parts if total > 0), default=0.0)
