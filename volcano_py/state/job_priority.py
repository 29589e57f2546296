"""The priority that a job really has: that of its PodGroup's class, and no more than any of its pods has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volcano_py.state.status import FINISHED_STATUSES
from volcano_py.state.table.ledger import Ledger


def effective_priorities(ledger: Ledger) -> NDArray[np.int64]:
    """[J] the lowest of the class's value and the priorities of the job's pods that have not finished.

    A user who may create a PodGroup may name any PriorityClass in it, while a ResourceQuota can forbid pods of a class
    or limit their number. With the highest of the pods, one permitted pod would raise a gang of a thousand others.
    """
    tasks = ledger.tasks
    rows = np.flatnonzero(tasks.job >= 0)
    rows = rows[~FINISHED_STATUSES[tasks.status[rows]]]
    lowest: NDArray[np.int64] = ledger.jobs.priority.copy()
    np.minimum.at(lowest, tasks.job[rows], tasks.pod_priority[rows])
    return lowest
