"""The ledger: the node and status of every task, and every sum that follows from them.

All sums (what a node has in use, what a job or a queue holds, how many tasks a job has in each status) change in
`move` and nowhere else, in the live state and inside a cycle alike. They are integers, so undoing a move restores them
exactly.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.state.status import (
    ALLOCATED_STATUSES,
    LEAVING_STATUSES,
    ON_NODE_STATUSES,
    STATUS_COUNT,
    TaskStatus,
)
from volcano_py.state.table.axis import MOST_RESOURCES, ResourceAxis
from volcano_py.state.table.table import RESOURCES, Column, Table

Rows = NDArray[np.intp]
NOWHERE = -1
ANY_PRIORITY: Final = 2**63 - 1
"""Priority of a pod that was admitted without one: it limits nothing."""
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


class NodeTable(Table):
    """Row per node. `present` is false for a node that pods name but that does not (any more) exist."""

    present: NDArray[np.bool_]
    allocatable: NDArray[np.int64]
    used: NDArray[np.int64]
    releasing: NDArray[np.int64]
    pipelined: NDArray[np.int64]
    nonzero_used: NDArray[np.int64]
    tasks: NDArray[np.int32]
    columns = {
        "present": Column(np.bool_, False),
        "allocatable": Column(np.int64, 0, RESOURCES),
        "used": Column(np.int64, 0, RESOURCES),
        "releasing": Column(np.int64, 0, RESOURCES),
        "pipelined": Column(np.int64, 0, RESOURCES),
        # cpu and memory with kube-scheduler's defaults for containers that ask for nothing, for scoring only
        "nonzero_used": Column(np.int64, 0, 2),
        "tasks": Column(np.int32, 0),
    }

    def idle(self) -> NDArray[np.int64]:
        """[N, R] what is free now; negative where a node shrank."""
        return self.allocatable - self.used

    def future_idle(self, rows: Rows | int | slice = slice(None)) -> NDArray[np.int64]:
        """[N, R], of one row [R], what will be free when terminating pods are gone and promised places are taken."""
        free: NDArray[np.int64] = self.allocatable[rows] - self.used[rows] + self.releasing[rows] - self.pipelined[rows]
        return free


class TaskTable(Table):
    """Row per pod that counts: this scheduler's, and any that has a node."""

    status: NDArray[np.int8]
    node: NDArray[np.int32]
    task_class: NDArray[np.int32]
    job: NDArray[np.int32]
    queue: NDArray[np.int32]
    priority: NDArray[np.int64]
    pod_priority: NDArray[np.int64]
    created: NDArray[np.float64]
    suffix: NDArray[np.int64]
    tiebreak: NDArray[np.int64]
    retry_at: NDArray[np.float64]
    gated: NDArray[np.bool_]
    role: NDArray[np.int32]
    preemptable: NDArray[np.bool_]
    nominated_since: NDArray[np.float64]
    leaves_at: NDArray[np.float64]
    leaving_since: NDArray[np.float64]
    scheduled_at: NDArray[np.float64]
    started_at: NDArray[np.float64]
    deadline: NDArray[np.float64]
    nominated: NDArray[np.bool_]
    labels: NDArray[np.int32]
    spread: NDArray[np.int32]
    columns = {
        "status": Column(np.int8, TaskStatus.FREE),
        "node": Column(np.int32, NOWHERE),
        "task_class": Column(np.int32, 0),
        "job": Column(np.int32, NOWHERE),
        # slot of the queue it is charged to: of a placed pod the one it was bound in (see `charges`); of a waiting pod,
        # in a cycle only, its job's
        "queue": Column(np.int32, NOWHERE),
        "priority": Column(np.int64, 1),
        # `spec.priority`, which only admission by class sets; the largest there is for a pod without
        "pod_priority": Column(np.int64, ANY_PRIORITY),
        "created": Column(np.float64, 0.0),
        "suffix": Column(np.int64, 0),
        "tiebreak": Column(np.int64, 0),
        # seconds since the epoch; a pod whose binding or eviction failed is left alone until then
        "retry_at": Column(np.float64, 0.0),
        "gated": Column(np.bool_, False),
        # interned `volcano.sh/task-spec`, 0 for none
        "role": Column(np.int32, 0),
        # the pod was promised a node (status.nominatedNodeName)
        "nominated": Column(np.bool_, False),
        # `volcano.sh/preemptable`
        "preemptable": Column(np.bool_, True),
        # when the promise was first seen (seconds since the epoch), infinite until the next snapshot; 0 for none
        "nominated_since": Column(np.float64, 0.0),
        # when a terminating pod is killed at the latest, 0 for the others
        "leaves_at": Column(np.float64, 0.0),
        # when its deletion was asked for, 0 for the others
        "leaving_since": Column(np.float64, 0.0),
        # when the pod was scheduled, 0 when that is not known
        "scheduled_at": Column(np.float64, 0.0),
        # when its kubelet started it, 0 when it has not, or that is not known
        "started_at": Column(np.float64, 0.0),
        # `spec.activeDeadlineSeconds`: seconds from then until it is killed, 0 for never
        "deadline": Column(np.float64, 0.0),
        # slot of the pod's namespace and labels in the term book
        "labels": Column(np.int32, 0),
        # slot in the term book of the pods among which a waiting pod is spread by default, NOWHERE for none
        "spread": Column(np.int32, NOWHERE),
    }


class JobTable(Table):
    """Row per PodGroup, or per group name that pods carry. `known` is true once the PodGroup exists."""

    known: NDArray[np.bool_]
    queue: NDArray[np.int32]
    namespace: NDArray[np.int32]
    phase: NDArray[np.int8]
    min_member: NDArray[np.int64]
    priority: NDArray[np.int64]
    created: NDArray[np.float64]
    has_min_resources: NDArray[np.bool_]
    min_resources: NDArray[np.int64]
    preemptable: NDArray[np.bool_]
    estimate: NDArray[np.float64]
    stored_phase: NDArray[np.int8]
    stored_counts: NDArray[np.int64]
    counts: NDArray[np.int32]
    allocated: NDArray[np.int64]
    columns = {
        "known": Column(np.bool_, False),
        "queue": Column(np.int32, NOWHERE),
        "namespace": Column(np.int32, NOWHERE),
        "phase": Column(np.int8, 0),
        "min_member": Column(np.int64, 0),
        "priority": Column(np.int64, 0),
        "created": Column(np.float64, 0.0),
        "has_min_resources": Column(np.bool_, False),
        "min_resources": Column(np.int64, 0, RESOURCES),
        # false when the PodGroup says `volcano.sh/preemptable: "false"`
        "preemptable": Column(np.bool_, True),
        # seconds that its pods are declared to run, 0 when none are declared
        "estimate": Column(np.float64, 0.0),
        # what the API server has: phase, and running, succeeded, failed
        "stored_phase": Column(np.int8, 0),
        "stored_counts": Column(np.int64, 0, 3),
        "counts": Column(np.int32, 0, STATUS_COUNT),
        "allocated": Column(np.int64, 0, RESOURCES),
    }


class QueueTable(Table):
    """Row per queue slot: what the tasks charged to the queue hold."""

    allocated: NDArray[np.int64]
    leaving: NDArray[np.int64]
    columns = {
        "allocated": Column(np.int64, 0, RESOURCES),
        # of tasks that are being deleted, or are lost, and have not left their node yet
        "leaving": Column(np.int64, 0, RESOURCES),
    }

    def used(self) -> NDArray[np.int64]:
        """[Q, R] all that is charged to each queue."""
        return self.allocated + self.leaving


class ClassTable(Table):
    """Row per task class: what one of its tasks asks for."""

    request: NDArray[np.int64]
    nonzero_request: NDArray[np.int64]
    tasks: NDArray[np.int32]
    columns = {
        "request": Column(np.int64, 0, RESOURCES),
        "nonzero_request": Column(np.int64, 0, 2),
        "tasks": Column(np.int32, 0),
    }


class Ledger:
    """The five tables and the one operation that moves tasks."""

    def __init__(self, axis: ResourceAxis) -> None:
        self.axis = axis
        self.nodes = NodeTable(len(axis))
        self.tasks = TaskTable(len(axis))
        self.jobs = JobTable(len(axis))
        self.queues = QueueTable(len(axis))
        self.classes = ClassTable(len(axis))

    def copy(self) -> Ledger:
        clone = Ledger.__new__(Ledger)
        clone.axis = self.axis
        clone.nodes = self.nodes.copy()
        clone.tasks = self.tasks.copy()
        clone.jobs = self.jobs.copy()
        clone.queues = self.queues.copy()
        clone.classes = self.classes.copy()
        return clone

    def cover(self, names: Mapping[str, object], most: int = MOST_RESOURCES) -> None:
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
        return all(wanted <= left for wanted, left in zip(request.tolist(), free.tolist(), strict=True) if wanted)

    def fit_together(self, rows: Rows, nodes: Rows) -> bool:
        """Whether nodes `nodes` [K] have free now what all of tasks `rows` [K] ask for; see `fits`."""
        where, which = np.unique(nodes, return_inverse=True)
        wanted = np.zeros((len(where), len(self.axis)), dtype=np.int64)
        np.add.at(wanted, which, self.classes.request[self.tasks.task_class[rows]])
        free = self.nodes.allocatable[where] - self.nodes.used[where]
        return bool(((wanted <= free) | (wanted == 0)).all())

    def move_one(self, row: int, status: int, node: int) -> None:
        """`move` for one task, without the cost of arrays; used once per watch event."""
        self.book_one(row, -1)
        self.tasks.status[row] = status
        self.tasks.node[row] = node
        self.book_one(row, 1)

    def move(self, rows: Rows, status: TaskStatus, nodes: Rows) -> None:
        """Put tasks `rows` [K] into `status` on node rows `nodes` [K] (NOWHERE for none) and keep every sum true."""
        if len(rows) <= _FEW:
            for row, node in zip(rows.tolist(), nodes.tolist(), strict=True):
                self.move_one(row, status, node)
            return
        self._book(rows, -1)
        self.tasks.status[rows] = status
        self.tasks.node[rows] = nodes
        self._book(rows, 1)

    def relabel(self, rows: Rows, status: TaskStatus) -> None:
        """Allocated tasks `rows` [K] of one job into another allocated status: only the counts by status change."""
        tasks, counts = self.tasks, self.jobs.counts[self.tasks.job[rows[0]]]
        counts[tasks.status[rows[0]]] -= len(rows)
        counts[status] += len(rows)
        tasks.status[rows] = status

    def charge(self, rows: Rows, queues: NDArray[np.int32]) -> None:
        """Tasks `rows` [K] count in the queues of these slots [K] from now on."""
        self._book(rows, -1)
        self.tasks.queue[rows] = queues
        self._book(rows, 1)

    def charge_waiting(self) -> None:
        """From now on pending tasks are charged to the queues that their jobs are in now."""
        tasks = self.tasks
        rows = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
        tasks.queue[rows] = self.jobs.queue[tasks.job[rows]]

    def reassess(self, task_class: int, request: NDArray[np.int64]) -> None:
        """What a task of the class asks for [R] is another amount."""
        rows = np.flatnonzero(self.tasks.task_class == task_class)
        self._book(rows, -1)
        self.classes.request[task_class] = request
        self._book(rows, 1)

    def restore(self, rows: Rows, statuses: NDArray[np.int8], nodes: NDArray[np.int32]) -> None:
        """Undo a move: each task back to its own former status and node."""
        if len(rows) <= _FEW:
            for row, status, node in zip(rows.tolist(), statuses.tolist(), nodes.tolist(), strict=True):
                self.move_one(row, status, node)
            return
        self._book(rows, -1)
        self.tasks.status[rows] = statuses
        self.tasks.node[rows] = nodes
        self._book(rows, 1)

    def book_one(self, row: int, sign: int) -> None:
        """Take one task out of the sums (-1) or put it in (1); between the two its columns may change."""
        tasks = self.tasks
        status = int(tasks.status[row])
        if status == TaskStatus.FREE:
            return
        node, job, task_class = int(tasks.node[row]), int(tasks.job[row]), int(tasks.task_class[row])
        if job >= 0:
            self.jobs.counts[job, status] += sign
        if not _HAS_SUMS[status]:
            return
        change, request = _CHANGES[sign], self.classes.request[task_class]
        if node >= 0:
            nodes = self.nodes
            if _ON_NODE[status]:
                change(nodes.used[node], request)
                change(nodes.nonzero_used[node], self.classes.nonzero_request[task_class])
                nodes.tasks[node] += sign
                if status == TaskStatus.RELEASING:
                    change(nodes.releasing[node], request)
            elif status == TaskStatus.PIPELINED:
                change(nodes.pipelined[node], request)
        if job >= 0 and _ALLOCATED[status]:
            change(self.jobs.allocated[job], request)
        queue = int(tasks.queue[row])
        if queue >= 0 and _ON_NODE[status]:
            change(self.queues.allocated[queue] if _ALLOCATED[status] else self.queues.leaving[queue], request)

    def _book(self, rows: Rows, sign: int) -> None:
        tasks = self.tasks
        status = tasks.status[rows]
        node = tasks.node[rows]
        job = tasks.job[rows]
        task_class = tasks.task_class[rows]
        amount = self.classes.request[task_class] * sign
        nodes = self.nodes
        placed = node >= 0
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
            np.add.at(self.jobs.counts, (job[grouped], status[grouped]), sign)
            allocated = grouped & ALLOCATED_STATUSES[status]
            if allocated.any():
                _add(self.jobs.allocated, job[allocated], amount[allocated])
        queue = tasks.queue[rows]
        for statuses, sums in ((ALLOCATED_STATUSES, self.queues.allocated), (LEAVING_STATUSES, self.queues.leaving)):
            charged = (queue >= 0) & statuses[status]
            if charged.any():
                _add(sums, queue[charged], amount[charged])

    def recount(self) -> Ledger:
        """The same tasks counted again into empty sums: what the sums must be. The self-audit compares them."""
        fresh = self.copy()
        for array in (fresh.nodes.used, fresh.nodes.releasing, fresh.nodes.pipelined, fresh.nodes.nonzero_used):
            array[:] = 0
        fresh.nodes.tasks[:] = 0
        fresh.jobs.counts[:] = 0
        fresh.jobs.allocated[:] = 0
        fresh.queues.allocated[:] = 0
        fresh.queues.leaving[:] = 0
        fresh._book(np.flatnonzero(fresh.tasks.status != TaskStatus.FREE), 1)
        return fresh

    def drift(self) -> int:
        """How far the sums are from a recount, as the sum of absolute differences; 0 unless there is a bug."""
        return _distance(self._sums(), self.recount()._sums())

    def put_right(self) -> int:
        """The drift there was; there is none any more."""
        mine, true = self._sums(), self.recount()._sums()
        drift = _distance(mine, true)
        if drift:
            for wrong, right in zip(mine, true, strict=True):
                wrong[:] = right
        return drift

    def _sums(self) -> _Sums:
        """All sums, as views."""
        nodes, jobs, queues = self.nodes, self.jobs, self.queues
        of_nodes = (nodes.used, nodes.releasing, nodes.pipelined, nodes.nonzero_used, nodes.tasks)
        return [
            *(array[: nodes.size] for array in of_nodes),
            *(array[: jobs.size] for array in (jobs.counts, jobs.allocated)),
            *(array[: queues.size] for array in (queues.allocated, queues.leaving)),
        ]


def _add(sums: NDArray[np.int64], rows: NDArray[np.int32], amounts: NDArray[np.int64]) -> None:
    """Add `amounts` [K, R] to the sums of `rows` [K]; tasks that are moved together are mostly of one job and queue."""
    if (rows == rows[0]).all():
        sums[rows[0]] += amounts.sum(axis=0)
    else:
        np.add.at(sums, rows, amounts)


def _distance(mine: _Sums, true: _Sums) -> int:
    return int(sum(np.abs(some - other).sum() for some, other in zip(mine, true, strict=True)))
