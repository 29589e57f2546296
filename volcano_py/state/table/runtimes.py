"""How long pods run, as far as that is declared, and when those that run end.

Declared is `activeDeadlineSeconds` of a pod, after which its kubelet ends it, and the running estimate of its PodGroup.
The shorter one counts. An estimate that is over says little: such a pod is taken to run as long again as it is late.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import Rows

_NEW = [TaskStatus.ALLOCATED, TaskStatus.BINDING]


def runtimes(ledger: Ledger, rows: Rows) -> NDArray[np.float64]:
    """[K] seconds that these tasks run; infinite where none is declared."""
    return np.minimum(_deadlines(ledger, rows), _estimates(ledger, rows))


def on_nodes(ledger: Ledger) -> Rows:
    """[K] the tasks that occupy nodes."""
    tasks = ledger.tasks
    return np.flatnonzero(ON_NODE_STATUSES[tasks.status] & (tasks.node >= 0))


def ends(ledger: Ledger, rows: Rows, now: float) -> NDArray[np.float64]:
    """[K] when these tasks, which occupy nodes, leave them; infinite where that is not known. None is before `now`."""
    tasks = ledger.tasks
    status = tasks.status[rows]
    seen = np.where(tasks.started_at[rows] > 0, tasks.started_at[rows], tasks.scheduled_at[rows])
    begun = np.minimum(np.where((seen > 0) & ~np.isin(status, _NEW), seen, now), now)
    due = begun + _estimates(ledger, rows)
    late = np.maximum(now - due, 0.0)
    expected = np.where(late > 0, now + late, due)
    expected = np.minimum(expected, np.maximum(begun + _deadlines(ledger, rows), now))
    leaves: NDArray[np.float64] = np.maximum(tasks.leaves_at[rows], now)
    return np.where(status == TaskStatus.RELEASING, leaves, expected)


def _deadlines(ledger: Ledger, rows: Rows) -> NDArray[np.float64]:
    seconds = ledger.tasks.deadline[rows]
    return np.where(seconds > 0, seconds, np.inf)


def _estimates(ledger: Ledger, rows: Rows) -> NDArray[np.float64]:
    jobs = ledger.tasks.job[rows]
    seconds = np.where(jobs >= 0, ledger.jobs.estimate[jobs], 0.0)
    return np.where(seconds > 0, seconds, np.inf)
