"""Which of the jobs that are to be looked at again a cycle looks at, and what that costs.

All of them, as long as they are few. Else half of them are the first in order: the best of each queue and namespace,
then the second best of each, and so on; gangs of which too few run come before others, as in allocate. The other half
have waited longest for it, so that each has its turn.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.resting.memory import RestingJob
from volcano_py.state.status import READY_STATUSES
from volcano_py.state.table.runs import ranks_in_runs
from volcano_py.state.table.table import Rows

# The unit is what it takes to look at a job of a new class: a millisecond, or some where pods may be evicted.
MOST: Final = 60.0
"""What a cycle spends on them though none of them finds room."""
PER_PLACE: Final = 10.0
"""What it spends besides for each pod that may find room."""
MOST_ON_NEW_GROUND: Final = 300.0
"""What it spends once nodes or queues have changed: no tenant can bring that about, and many pods may find room."""
_IN_NETWORK: Final = 4.0
"""A class of a job that may be limited to parts of the network is searched for in each of these."""
_PER_JOB: Final = 0.15
_PER_VOTE: Final = 0.25
"""Of a job that is not admitted."""
_PER_TASK: Final = 0.02


def budget(places: int, *, is_ground_new: bool) -> float:
    """What a cycle spends.

    Args:
        places: how many pods may find room at most, if that is known.
        is_ground_new: whether nodes or queues have changed.
    """
    return MOST_ON_NEW_GROUND if is_ground_new else MOST + PER_PLACE * places


def chosen(cluster: ClusterCopy, jobs: Mapping[int, RestingJob], due: Mapping[int, int], most: float) -> set[int]:
    """Rows of the jobs that this cycle looks at.

    Args:
        jobs: all that rest, by row.
        due: row of each that is to be looked at → the number of the cycle since which it is.
        most: what the cycle spends on them.
    """
    costs = _Costs()
    first = set(_affordable(due, jobs, costs, most))
    if len(first) == len(due):
        return first
    rows = np.fromiter(due, dtype=np.intp)
    order = _in_turns(cluster, rows)
    since = np.fromiter(due.values(), dtype=np.int64)
    costs = _Costs()
    found = set(_affordable(rows[order], jobs, costs, most / 2))
    oldest = order[np.argsort(since[order], kind="stable")]
    found.update(_affordable((row for row in rows[oldest] if row not in found), jobs, costs, most / 2))
    return found


def _affordable(rows: Iterable[int], jobs: Mapping[int, RestingJob], costs: _Costs, most: float) -> Iterator[int]:
    """The first of them that cost no more than that together, and at least one."""
    spent = 0.0
    for row in rows:
        yield int(row)
        if (spent := spent + costs.of(jobs[int(row)])) >= most:
            return


class _Costs:
    """What it takes to look at one job after the other: little, if it is skipped, of a class that is known by then, or
    not admitted and asks for as much as another one."""

    def __init__(self) -> None:
        self._known: set[Hashable] = set()

    def of(self, job: RestingJob) -> float:
        cost = _PER_JOB + _PER_TASK * len(job.tasks) + (0.0 if job.is_admitted else _PER_VOTE)
        if job.is_skipped:
            return cost
        asked: set[Hashable]
        if job.is_admitted:
            asked = {id(task.task_class) for task in job.tasks}
        else:
            asked = {(job.info.queue, frozenset(job.info.min_resources.items()))}
        new = asked - self._known
        self._known |= new
        return cost + len(new) * (1.0 if job.info.topology is None else _IN_NETWORK)


def _in_turns(cluster: ClusterCopy, rows: Rows) -> NDArray[np.intp]:
    """[K] places of the rows in order: queues and namespaces in turn, in each gangs of which too few run first, then by
    priority and age."""
    jobs = cluster.ledger.jobs
    priority, created = -jobs.priority[rows], jobs.created[rows]
    ready = jobs.counts[rows][:, READY_STATUSES].sum(axis=1)
    is_whole = (ready == 0) | (ready >= jobs.min_member[rows])
    groups = jobs.queue[rows].astype(np.int64) * len(cluster.snapshot.namespaces) + jobs.namespace[rows]
    by_group = np.lexsort((rows, created, priority, is_whole, groups))
    turn = np.empty(len(rows), dtype=np.intp)
    turn[by_group] = ranks_in_runs(groups[by_group])
    return np.lexsort((rows, created, priority, is_whole, turn))
