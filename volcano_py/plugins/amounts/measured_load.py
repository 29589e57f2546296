"""What nodes really use, as plugins read it: measurements that are not too old, and pods that are not in them yet."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.session import Session
from volcano_py.state.nodes.loads import FRESH_FOR
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows

Parts = NDArray[np.float64]
"""[2] or [K, 2]: parts of what a node has of CPU and memory."""


class MeasuredLoad(msgspec.Struct, frozen=True, eq=False):
    """See the module.

    Attributes:
        parts: [N, 2] parts of the node in use, NaN where that is not known.
        moments: [N] when each was measured, in seconds since the epoch; minus infinity where it was not.
    """

    parts: Parts
    moments: NDArray[np.float64]

    @classmethod
    def of(cls, ssn: Session) -> MeasuredLoad:
        """What counts at the time of the session. Another cycle is requested for when a measurement becomes too old."""
        size = ssn.ledger.nodes.size
        parts: Parts = np.full((size, 2), np.nan)
        moments = np.full(size, -np.inf)
        for name, load in ssn.snapshot.loads.items():
            row = ssn.nodes.rows.get(name)
            if row is not None and load.measured > ssn.now - FRESH_FOR:
                parts[row] = [np.nan if part is None else part for part in (load.cpu, load.memory)]
                moments[row] = load.measured
                ssn.wakeups.recheck_at(load.measured + FRESH_FOR)
        return cls(parts, moments)

    def without(self, ssn: Session) -> Rows:
        """Tasks that were scheduled after their node was measured; where that is not known, those that do not run."""
        tasks = ssn.ledger.tasks
        rows = np.flatnonzero(ON_NODE_STATUSES[tasks.status] & (tasks.status != TaskStatus.RELEASING))
        rows = rows[tasks.node[rows] >= 0]
        measured = self.moments[tasks.node[rows]]
        when = tasks.scheduled_at[rows]
        young = np.where(when > 0, when > measured, tasks.status[rows] != TaskStatus.RUNNING)
        unmeasured: Rows = rows[young & np.isfinite(measured)]
        return unmeasured
