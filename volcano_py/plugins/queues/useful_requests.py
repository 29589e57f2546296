"""What of requests is for pods that some node could take, if all nodes were empty.

The rest claims nothing: what is promised or shared out for pods that can start nowhere would lie idle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import place_in_group, sums_by_group
from volcano_py.state.status import VALID_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows

Amounts = NDArray[np.int64]


class UsefulRequests:
    """As of one moment. What gated pods ask for is not asked about here."""

    def __init__(self, ssn: Session, room: Callable[[int], int]) -> None:
        """`room`: how many pods of the class in a row all nodes could take."""
        self._ssn = ssn
        self._room = room

    def of(self, rows: Rows, amounts: Amounts) -> Amounts:
        """[K, R] of `amounts` for the jobs in `rows` [K]: less what is for pods that no node could take, and nothing
        where the gang cannot be complete without those."""
        tasks, jobs = self._ssn.ledger.tasks, self._ssn.ledger.jobs
        is_asked = np.zeros(jobs.size, dtype=np.bool_)
        is_asked[rows] = True
        waiting = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0) & ~tasks.gated)
        useless = self._that_never_fit(waiting[is_asked[tasks.job[waiting]]])
        if not len(useless):
            return amounts
        requests = sums_by_group(tasks.job[useless], self._requests(useless), jobs.size)[rows]
        return self._less(rows, amounts, requests, np.bincount(tasks.job[useless], minlength=jobs.size)[rows])

    def of_one(self, row: int, amounts: Amounts) -> Amounts:
        """[R] the same of one job."""
        tasks, rows = self._ssn.ledger.tasks, self._ssn.tasks_of_row(row)
        waiting = rows[(tasks.status[rows] == TaskStatus.PENDING) & ~tasks.gated[rows]]
        classes = Counter(tasks.task_class[waiting].tolist())
        if all(count <= self._room(each) for each, count in classes.items()):
            return amounts  # as nearly always, and much faster than what follows
        useless = self._that_never_fit(waiting)
        if not len(useless):
            return amounts
        requests = self._requests(useless).sum(axis=0, keepdims=True)
        less: Amounts = self._less(np.array([row]), amounts[None], requests, np.array([len(useless)]))[0]
        return less

    def startable(self, tasks: Rows) -> Rows:
        """Of these waiting tasks those that some node could take, without those of gangs that cannot be complete."""
        useless = self._that_never_fit(tasks)
        if not len(useless):
            return tasks
        jobs, of_job = self._ssn.ledger.jobs, self._ssn.ledger.tasks.job
        stuck = self._cannot_be_complete(np.arange(jobs.size), np.bincount(of_job[useless], minlength=jobs.size))
        left = np.setdiff1d(tasks, useless, assume_unique=True)
        return left[~stuck[of_job[left]]]

    def _less(self, rows: Rows, amounts: Amounts, requests: Amounts, useless: NDArray[np.intp]) -> Amounts:
        useful: Amounts = np.maximum(amounts - requests, 0)
        useful[self._cannot_be_complete(rows, useless)] = 0
        return useful

    def _cannot_be_complete(self, rows: Rows, useless: NDArray[np.intp]) -> NDArray[np.bool_]:
        """[K] whether the gangs in `rows` [K] are, but not without so many pods."""
        jobs = self._ssn.ledger.jobs
        pods, minimum = jobs.counts[rows][:, VALID_STATUSES].sum(axis=1), jobs.min_member[rows]
        stuck: NDArray[np.bool_] = (pods - useless < minimum) & (pods >= minimum)
        return stuck

    def _requests(self, tasks: Rows) -> Amounts:
        requests: Amounts = self._ssn.ledger.classes.request[self._ssn.ledger.tasks.task_class[tasks]]
        return requests

    def _that_never_fit(self, tasks: Rows) -> Rows:
        """Of each job's tasks, those beyond what all nodes could take of their class if they were empty."""
        of_class = self._ssn.ledger.tasks.task_class[tasks]
        counts = np.bincount(of_class)
        rooms = np.zeros_like(counts)
        for each in np.flatnonzero(counts).tolist():
            rooms[each] = self._room(each)
        scarce = (counts > rooms)[of_class]  # nearly always none are
        tasks, of_class = tasks[scarce], of_class[scarce]
        if not len(tasks):
            return tasks
        pairs = np.stack((self._ssn.ledger.tasks.job[tasks], of_class), axis=1)
        groups = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
        beyond: Rows = tasks[place_in_group(groups) >= rooms[of_class]]
        return beyond
