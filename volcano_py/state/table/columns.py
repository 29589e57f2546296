"""The columns that the ledger keeps: a table each of nodes, tasks, jobs, queues and task classes."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.state.status import STATUS_COUNT, TaskStatus
from volcano_py.state.table.axis import PODS
from volcano_py.state.table.table import NOWHERE, RESOURCES, Column, Rows, Table

ANY_PRIORITY: Final = 2**63 - 1
"""Priority of a pod that was admitted without one: it limits nothing."""


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
    shared = frozenset({"present", "allocatable"})

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
    sub_group: NDArray[np.int32]
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
        # interned sub-group of its PodGroup, 0 for none
        "sub_group": Column(np.int32, 0),
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
    shared = frozenset(columns) - {"status", "node", "task_class"}


class JobTable(Table):
    """Row per PodGroup, or per group name that pods carry. `known` is true once the PodGroup exists; in a cycle, only
    if it is not left to another scheduler."""

    known: NDArray[np.bool_]
    foreign: NDArray[np.bool_]
    queue: NDArray[np.int32]
    namespace: NDArray[np.int32]
    phase: NDArray[np.int8]
    min_member: NDArray[np.int64]
    priority: NDArray[np.int64]
    created: NDArray[np.float64]
    suffix: NDArray[np.int64]
    has_parts: NDArray[np.bool_]
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
        # it belongs to another scheduler, unless it has pods of ours
        "foreign": Column(np.bool_, False),
        "queue": Column(np.int32, NOWHERE),
        "namespace": Column(np.int32, NOWHERE),
        "phase": Column(np.int8, 0),
        "min_member": Column(np.int64, 0),
        "priority": Column(np.int64, 0),
        "created": Column(np.float64, 0.0),
        # number at the end of its name, see `JobInfo.name`
        "suffix": Column(np.int64, 0),
        # it has minimums of roles, or pods have to be near each other in all or in parts
        "has_parts": Column(np.bool_, False),
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
    shared = frozenset(columns) - {"phase", "counts", "allocated"}


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

    def another(self, row: int) -> int:
        """A new row for a class that asks for the same as the one in `row`."""
        new = self.new_row()
        columns = self.change(new)
        columns.request[new], columns.nonzero_request[new] = self.request[row], self.nonzero_request[row]
        return new

    def use_devices(self, rows: Rows | int) -> bool:
        """Whether tasks of any of these classes ask for more than cpu, memory and a place."""
        return bool(self.request[rows, PODS + 1 :].any())
