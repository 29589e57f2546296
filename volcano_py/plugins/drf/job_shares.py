"""What each job holds, and its dominant share."""

from __future__ import annotations

from collections.abc import Sequence

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
        """The share of who holds so much [R]."""
        return largest_part(held, self._totals)


def largest_part(held: IntVector, base: Sequence[float]) -> float:
    """`dominant_share` for a single row, once for every placement: plain floats are ten times as fast."""
    return max([part / total for part, total in zip(held.tolist(), base, strict=True) if total > 0], default=0.0)
