"""What nodes will have free, and when."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.columns import NodeTable
from volcano_py.state.table.runtimes import ends, on_nodes
from volcano_py.state.table.table import NOWHERE

T = TypeVar("T")


class Outlook:
    """The nodes from now on, with nothing placed beyond what is placed now. Promised places count as taken, but for
    those of the job in row `job`.

    Attributes:
        now: seconds since the epoch.
        times: [M] now, and every later moment up to the end of the window at which a pod leaves its node, ascending.
    """

    def __init__(self, cluster: ClusterCopy, window: float, job: int = NOWHERE) -> None:
        self._cluster = cluster
        self._nodes = cluster.ledger.nodes
        self._job = job
        self.now = cluster.now
        ledger = cluster.ledger
        rows = on_nodes(ledger)
        moments = ends(ledger, rows, cluster.now)
        known = moments <= cluster.now + window
        order = np.argsort(moments[known], kind="stable")
        self._leaving, self._at = rows[known][order], moments[known][order]
        self._where = ledger.tasks.node[self._leaving]
        self._amounts = ledger.classes.request[ledger.tasks.task_class[self._leaving]]
        self.times: NDArray[np.float64] = np.unique(np.concatenate(([cluster.now], self._at)))

    @property
    def last(self) -> float:
        """The last of the times: later nothing more is known to leave."""
        return float(self.times[-1])

    @cached_property
    def free_now(self) -> NDArray[np.int64]:
        """[N, R]"""
        free = self._nodes.allocatable - self._nodes.used - self._promised
        free[~self._nodes.present] = 0
        return free

    def released_by(self, moment: float) -> NDArray[np.int64]:
        """[N, R] what pods will have given back by then."""
        count = int(np.searchsorted(self._at, moment, side="right"))
        released = np.zeros((self._nodes.size, self._amounts.shape[1]), dtype=np.int64)
        for dim in range(released.shape[1]):
            amounts = self._amounts[:count, dim]
            if amounts.any():
                # (sums of whole units stay below 2^53, where floats are exact)
                released[:, dim] = np.bincount(self._where[:count], weights=amounts, minlength=self._nodes.size)
        return released

    def free_at(self, moment: float) -> NDArray[np.int64]:
        """[N, R]"""
        return self.free_now + self.released_by(moment)

    def first(self, question: Callable[[NDArray[np.int64]], T | None]) -> tuple[float, T] | None:
        """The first of the times at which the question has an answer, which it has ever after, for what is free [N, R];
        and that answer. None: there is no such time."""
        best = question(self.free_at(self.last))
        if best is None:
            return None
        low, high = 0, len(self.times) - 1
        while low < high:
            middle = (low + high) // 2
            answer = question(self.free_at(float(self.times[middle])))
            if answer is None:
                low = middle + 1
            else:
                high, best = middle, answer
        return float(self.times[high]), best

    def nodes_then(self) -> NodeTable:
        """The nodes once every pod has left that is known to leave, for plugins to look at."""
        then = self._nodes.copy()
        columns = then.change(slice(None))
        columns.used[: then.size] -= self.released_by(self.last)
        columns.releasing[:], columns.pipelined[:] = 0, 0
        return then

    def most(self) -> NDArray[np.int64]:
        """[N, R] what jobs could have at most: what pods of no job leave of each node."""
        tasks, classes = self._cluster.ledger.tasks, self._cluster.ledger.classes
        most = np.where(self._nodes.present[:, None], self._nodes.allocatable, 0) - self._promised
        rows = on_nodes(self._cluster.ledger)
        foreign = rows[tasks.job[rows] == NOWHERE]
        np.subtract.at(most, tasks.node[foreign], classes.request[tasks.task_class[foreign]])
        return most

    @cached_property
    def _promised(self) -> NDArray[np.int64]:
        """[N, R] places that are promised to pods, which have them as soon as others leave."""
        tasks, classes = self._cluster.ledger.tasks, self._cluster.ledger.classes
        promised = self._nodes.pipelined.copy()
        own = np.flatnonzero((tasks.status == TaskStatus.PIPELINED) & (tasks.job == self._job))
        np.subtract.at(promised, tasks.node[own], classes.request[tasks.task_class[own]])
        waiting = np.flatnonzero(tasks.nominated & (tasks.status == TaskStatus.PENDING) & (tasks.job != self._job))
        for row in waiting.tolist():
            node = self._cluster.nodes.rows.get(self._cluster.task_info(row).nominated_node)
            if node is not None:
                promised[node] += classes.request[tasks.task_class[row]]
        return promised
