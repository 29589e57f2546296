"""What each job holds, and its dominant share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import dominant_share, saturated, sums_by_group
from volcano_py.state.status import LEAVING_STATUSES
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.table import NOWHERE


class JobShares:
    """The share of a job is the largest part it holds of any resource, of what queues can share.

    Attributes:
        total: [R] what queues can share.
        held: [J, R] by job row. Own sums: a task that waits for resources to be released counts here, but not in the
            ledger's `allocated`.
    """

    def __init__(self, ssn: Session, held: NDArray[np.int64] | None = None) -> None:
        """`held` [J, R], if it is not what the jobs' pods hold that are to stay."""
        self.total: IntVector = ssn.available
        self.held = ssn.ledger.jobs.allocated.copy() if held is None else held
        self._shares: NDArray[np.float64] = dominant_share(self.held, self.total)
        self._moved: dict[int, None] = {}
        """Rows of jobs that hold something else than their shares say; most are never asked for."""
        self._totals = [float(amount) for amount in self.total.tolist()]

    @property
    def shares(self) -> NDArray[np.float64]:
        """[J] by job row."""
        for row in self._moved:
            self._shares[row] = self.share_of(self.held[row])
        self._moved.clear()
        return self._shares

    def with_leaving(self, ssn: Session) -> JobShares:
        """The same with what pods still hold that are leaving; itself when there are none."""
        tasks = ssn.ledger.tasks
        rows = np.flatnonzero((tasks.job >= 0) & (tasks.queue != NOWHERE) & LEAVING_STATUSES[tasks.status])
        if not len(rows):
            return self
        requests = ssn.ledger.classes.request[tasks.task_class[rows]]
        return JobShares(ssn, saturated(self.held, sums_by_group(tasks.job[rows], requests, len(self.held))))

    def book(self, row: int, amount: IntVector) -> None:
        """The job in that row holds `amount` [R] more, or less where it is negative."""
        held: IntVector = self.held[row]
        held += amount
        self._moved[row] = None

    def share_of(self, held: IntVector) -> float:
        """The dominant share of a job that holds so much [R]."""
        return largest_part(held, self._totals)


def largest_part(held: IntVector, base: Sequence[float]) -> float:
    """`dominant_share` for a single row: plain floats are ten times as fast."""
    return max([part / total for part, total in zip(held.tolist(), base, strict=True) if total > 0], default=0.0)
