"""The ledger: the node and status of every task, and every sum that follows from them.

All sums (what a node has in use, what a job or a queue holds, how many tasks a job has in each status) change in
`move` and nowhere else, in the live state and inside a cycle alike. They are integers, so undoing a move restores them
exactly.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.bounds import RESOURCES
from volcano_py.state.status import (
    ALLOCATED_STATUSES,
    LEAVING_STATUSES,
    ON_NODE_STATUSES,
    STATUS_COUNT,
    TaskStatus,
)
from volcano_py.state.table.axis import ResourceAxis
from volcano_py.state.table.columns import ClassTable, JobTable, NodeTable, QueueTable, TaskTable
from volcano_py.state.table.table import NOWHERE, Rows, Table

# Up to so many tasks are booked faster one by one than with arrays.
_FEW = 4

_ON_NODE = ON_NODE_STATUSES.tolist()
_ALLOCATED = ALLOCATED_STATUSES.tolist()
_HAS_SUMS = (ALLOCATED_STATUSES | ON_NODE_STATUSES | (np.arange(STATUS_COUNT) == TaskStatus.PIPELINED)).tolist()
# In place, on one row of a table.
_CHANGES: Final[dict[int, Callable[[NDArray[np.int64], NDArray[np.int64]], object]]] = {
    1: operator.iadd,
    -1: operator.isub,
}


_Sums = list[NDArray[np.int64] | NDArray[np.int32]]


class Ledger:
    """The five tables and the one operation that moves tasks."""

    by_devices: Container[str] = ()
    """Resources for which devices stand in on nodes that have none of them (`state/extended`)."""

    def __init__(self, axis: ResourceAxis) -> None:
        self.axis = axis
        self.nodes = NodeTable(len(axis))
        self.tasks = TaskTable(len(axis))
        self.jobs = JobTable(len(axis))
        self.queues = QueueTable(len(axis))
        self.classes = ClassTable(len(axis))

    def copy(self, former: Ledger | None = None) -> Ledger:
        """An independent ledger. `former`: an earlier copy of this one that nobody uses any more (see `Table.copy`)."""
        return self._copied(Table.copy, former)

    def for_cycle(self, former: Ledger | None = None) -> Ledger:
        """The same for a cycle, which shares what it never writes (see `Table.for_cycle`)."""
        return self._copied(Table.for_cycle, former)

    def _copied(self, copy: Callable[[Any, Any], Any], former: Ledger | None) -> Ledger:
        clone = Ledger.__new__(Ledger)
        clone.axis = self.axis
        for name in ("nodes", "tasks", "jobs", "queues", "classes"):
            setattr(clone, name, copy(getattr(self, name), former and getattr(former, name)))
        return clone

    def cover(self, names: Mapping[str, object], most: int = RESOURCES.most) -> None:
        """Make columns for all counted `names`.

        Raises:
            TooManyResourcesError: there would be more than `most`; none was made.
        """
        axis = self.axis.with_names(names, most)
        if axis is not self.axis:
            self.widen(axis)

    def widen(self, axis: ResourceAxis) -> None:
        """Adopt an axis that has grown at its end."""
        self.axis = axis
        for table in (self.nodes, self.tasks, self.jobs, self.queues, self.classes):
            table.widen(len(axis))

    def fits(self, row: int, node: int) -> bool:
        """Whether the node has free now what a task asks for; what it does not ask for may be short."""
        request = self.classes.request[self.tasks.task_class[row]]
        free = self.nodes.allocatable[node] - self.nodes.used[node]
        short = [
            dim for dim, (wanted, left) in enumerate(zip(request.tolist(), free.tolist(), strict=True)) if wanted > left
        ]
        return all(not request[dim] or self._is_of_devices(node, dim) for dim in short)

    def _is_of_devices(self, node: int, dim: int) -> bool:
        """Whether devices stand in for that resource on the node: which of them are free is not counted here."""
        return not self.nodes.allocatable[node, dim] and self.axis.names[dim] in self.by_devices

    def fit_together(self, rows: Rows, nodes: Rows) -> bool:
        """Whether nodes `nodes` [K] have free now what all of tasks `rows` [K] ask for; see `fits`."""
        where, which = np.unique(nodes, return_inverse=True)
        wanted = np.zeros((len(where), len(self.axis)), dtype=np.int64)
        np.add.at(wanted, which, self.classes.request[self.tasks.task_class[rows]])
        free = self.nodes.allocatable[where] - self.nodes.used[where]
        short = (wanted > free) & (wanted > 0)
        places = zip(where[np.nonzero(short)[0]].tolist(), np.nonzero(short)[1].tolist(), strict=True)
        return all(self._is_of_devices(node, dim) for node, dim in places)

    def move_one(self, row: int, status: int, node: int) -> None:
        """`move` for one task, without the cost of arrays; used once per watch event."""
        tasks = self.tasks
        before, job = tasks.status.item(row), tasks.job.item(row)
        if before == TaskStatus.PENDING and job >= 0:
            self.jobs.change(job).counts[job, before] -= 1  # (all that waiting tasks count for)
        else:
            self.book_one(row, -1)
        tasks = tasks.change(row)
        tasks.status[row] = status
        tasks.node[row] = node
        self.book_one(row, 1)

    def move(self, rows: Rows, status: TaskStatus, nodes: Rows) -> None:
        """Put tasks `rows` [K] into `status` on node rows `nodes` [K] (NOWHERE for none) and keep every sum true."""
        if len(rows) <= _FEW:
            for row, node in zip(rows.tolist(), nodes.tolist(), strict=True):
                self.move_one(row, status, node)
            return
        self._book(rows, -1)
        tasks = self.tasks.change(rows)
        tasks.status[rows], tasks.node[rows] = status, nodes
        self._book(rows, 1)

    def relabel(self, rows: Rows, status: TaskStatus) -> None:
        """Allocated tasks `rows` [K] of one job into another allocated status: only the counts by status change."""
        tasks, first = self.tasks, rows.item(0)
        job = tasks.job.item(first)
        counts = self.jobs.change(job).counts[job]
        counts[tasks.status.item(first)] -= len(rows)
        counts[status] += len(rows)
        tasks.change(rows).status[rows] = status

    def charge(self, rows: Rows, queues: NDArray[np.int32]) -> None:
        """Tasks `rows` [K] count in the queues of these slots [K] from now on."""
        self._book(rows, -1)
        self.tasks.change(rows).queue[rows] = queues
        self._book(rows, 1)

    def charge_waiting(self) -> None:
        """From now on pending tasks are charged to the queues that their jobs are in now."""
        tasks = self.tasks
        rows = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
        tasks.change(rows).queue[rows] = self.jobs.queue[tasks.job[rows]]

    def leave_foreign(self) -> tuple[list[int], list[int]]:
        """From now on PodGroups of other schedulers count as unknown; returns their rows, and of those that would be
        theirs without pods of ours."""
        jobs = self.jobs
        rows = np.flatnonzero(jobs.foreign & jobs.known)
        has_ours = jobs.counts[rows].any(axis=1)
        left = rows[~has_ours]
        jobs.change(left).known[left] = False
        return left.tolist(), rows[has_ours].tolist()

    def leave(self, ours: NDArray[np.bool_]) -> list[int]:
        """From now on PodGroups in queues that are not `ours` count as unknown, and their waiting pods as pods of no
        PodGroup; returns the rows of these PodGroups. `ours` [Q + 1] is by slot, its last for no queue at all."""
        jobs, tasks = self.jobs, self.tasks
        is_left = ~ours[jobs.queue]
        waiting = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
        waiting = waiting[is_left[tasks.job[waiting]]]
        tasks.change(waiting).job[waiting] = NOWHERE
        rows = np.flatnonzero(is_left & jobs.known)
        jobs.change(rows).known[rows] = False
        return rows.tolist()

    def reassess(self, task_class: int, request: NDArray[np.int64]) -> None:
        """What a task of the class asks for [R] is another amount."""
        rows = np.flatnonzero(self.tasks.task_class == task_class)
        self._book(rows, -1)
        self.classes.change(task_class).request[task_class] = request
        self._book(rows, 1)

    def restore(self, rows: Rows, statuses: NDArray[np.int8], nodes: NDArray[np.int32]) -> None:
        """Undo a move: each task back to its own former status and node."""
        if len(rows) <= _FEW:
            for row, status, node in zip(rows.tolist(), statuses.tolist(), nodes.tolist(), strict=True):
                self.move_one(row, status, node)
            return
        self._book(rows, -1)
        tasks = self.tasks.change(rows)
        tasks.status[rows], tasks.node[rows] = statuses, nodes
        self._book(rows, 1)

    def book_one(self, row: int, sign: int) -> None:
        """Take one task out of the sums (-1) or put it in (1); between the two its columns may change."""
        tasks = self.tasks
        status = tasks.status.item(row)  # (`item` is the fastest way to one number)
        if status == TaskStatus.FREE:
            return
        node, job, task_class = tasks.node.item(row), tasks.job.item(row), tasks.task_class.item(row)
        jobs = self.jobs.change(job) if job >= 0 else None
        if jobs is not None:
            jobs.counts[job, status] += sign
        if not _HAS_SUMS[status]:
            return
        change, request = _CHANGES[sign], self.classes.request[task_class]
        if node >= 0:
            nodes = self.nodes.change(node)
            if _ON_NODE[status]:
                change(nodes.used[node], request)
                change(nodes.nonzero_used[node], self.classes.nonzero_request[task_class])
                nodes.tasks[node] += sign
                if status == TaskStatus.RELEASING:
                    change(nodes.releasing[node], request)
            elif status == TaskStatus.PIPELINED:
                change(nodes.pipelined[node], request)
        if jobs is not None and _ALLOCATED[status]:
            change(jobs.allocated[job], request)
        queue = tasks.queue.item(row)
        if queue >= 0 and _ON_NODE[status]:
            queues = self.queues.change(queue)
            change(queues.allocated[queue] if _ALLOCATED[status] else queues.leaving[queue], request)

    def enter(self, rows: Sequence[int]) -> None:
        """Put tasks, which are in no sum yet, into the sums."""
        if len(rows) <= _FEW:
            for row in rows:
                self.book_one(row, 1)
        else:
            self._book(np.array(rows), 1)

    def _book(self, rows: Rows, sign: int) -> None:
        tasks = self.tasks
        status = tasks.status[rows]
        node = tasks.node[rows]
        job = tasks.job[rows]
        task_class = tasks.task_class[rows]
        amount = self.classes.request[task_class] * sign
        placed = node >= 0
        nodes = self.nodes.change(node[placed])
        on_node = ON_NODE_STATUSES[status] & placed
        if on_node.any():
            where = node[on_node]
            np.add.at(nodes.used, where, amount[on_node])
            np.add.at(nodes.nonzero_used, where, self.classes.nonzero_request[task_class[on_node]] * sign)
            np.add.at(nodes.tasks, where, sign)
        releasing = (status == TaskStatus.RELEASING) & placed
        if releasing.any():
            np.add.at(nodes.releasing, node[releasing], amount[releasing])
        pipelined = (status == TaskStatus.PIPELINED) & placed
        if pipelined.any():
            np.add.at(nodes.pipelined, node[pipelined], amount[pipelined])
        grouped = (job >= 0) & (status != TaskStatus.FREE)
        if grouped.any():
            jobs = self.jobs.change(job[grouped])
            np.add.at(jobs.counts, (job[grouped], status[grouped]), sign)
            allocated = grouped & ALLOCATED_STATUSES[status]
            if allocated.any():
                _add(jobs.allocated, job[allocated], amount[allocated])
        queue = tasks.queue[rows]
        queues = self.queues.change(queue[queue >= 0])
        for statuses, sums in ((ALLOCATED_STATUSES, queues.allocated), (LEAVING_STATUSES, queues.leaving)):
            charged = (queue >= 0) & statuses[status]
            if charged.any():
                _add(sums, queue[charged], amount[charged])

    def recount(self) -> Ledger:
        """The same tasks counted again into empty sums: what the sums must be. The self-audit compares them."""
        fresh = self.copy()
        for sums in fresh._sums(to_write=True):
            sums[:] = 0
        fresh._book(np.flatnonzero(fresh.tasks.status != TaskStatus.FREE), 1)
        return fresh

    def drift(self) -> int:
        """How far the sums are from a recount, as the sum of absolute differences; 0 unless there is a bug."""
        return _distance(self._sums(), self.recount()._sums())

    def put_right(self) -> int:
        """The drift there was; there is none any more."""
        true = self.recount()._sums()
        drift = _distance(self._sums(), true)
        if drift:
            for wrong, right in zip(self._sums(to_write=True), true, strict=True):
                wrong[:] = right
        return drift

    def _sums(self, *, to_write: bool = False) -> _Sums:
        """All sums, as views."""
        nodes, jobs, queues = self.nodes, self.jobs, self.queues
        sizes = nodes.size, jobs.size, queues.size
        if to_write:
            nodes, jobs, queues = (nodes.change(slice(None)), jobs.change(slice(None)), queues.change(slice(None)))
        of_nodes = (nodes.used, nodes.releasing, nodes.pipelined, nodes.nonzero_used, nodes.tasks)
        return [
            *(array[: sizes[0]] for array in of_nodes),
            *(array[: sizes[1]] for array in (jobs.counts, jobs.allocated)),
            *(array[: sizes[2]] for array in (queues.allocated, queues.leaving)),
        ]


def _add(sums: NDArray[np.int64], rows: NDArray[np.int32], amounts: NDArray[np.int64]) -> None:
    """Add `amounts` [K, R] to the sums of `rows` [K]; tasks that are moved together are mostly of one job and queue."""
    if (rows == rows[0]).all():
        sums[rows[0]] += amounts.sum(axis=0)
    else:
        np.add.at(sums, rows, amounts)


def _distance(mine: _Sums, true: _Sums) -> int:
    return int(sum(np.abs(some - other).sum() for some, other in zip(mine, true, strict=True)))
