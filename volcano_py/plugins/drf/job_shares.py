"""What each job holds, and its dominant share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.session import Session
from volcano_py.plugins.shares import dominant_share
from volcano_py.state.axis import IntVector


class JobShares:
    """The share of a job is the largest part it holds of any resource of the cluster.

    Attributes:
        held: [J, R] by job row. Own sums: a task that waits for resources to be released counts here, but not in the
            ledger's `allocated`.
        shares: [J] by job row.
    """

    def __init__(self, ssn: Session) -> None:
        self.total: IntVector = ssn.total
        self.held = ssn.ledger.jobs.allocated.copy()
        self.shares: NDArray[np.float64] = dominant_share(self.held, self.total)
        self._totals = [float(amount) for amount in ssn.total.tolist()]

    def book(self, row: int, amount: IntVector) -> None:
        """The job in that row holds `amount` [R] more, or less where it is negative."""
        held: IntVector = self.held[row]
        held += amount
        self.shares[row] = self.share_of(held)

    def share_of(self, held: IntVector) -> float:
        """`dominant_share` for a single row, once for every placement: plain floats are ten times as fast."""
        parts = zip(held.tolist(), self._totals, strict=True)
        return max([part / total for part, total in parts if total > 0], default=0.0)
