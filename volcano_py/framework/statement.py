"""A statement: an undo log of placements and evictions, committed as a whole or discarded as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import groupby, repeat
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.effects import Effect, Emit, Evict, ObjectRef
from volcano_py.framework.binding.bindings import bindings
from volcano_py.framework.binding.series import Series
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.findings import Findings
from volcano_py.framework.job import Job, Placement
from volcano_py.framework.moves import Moves
from volcano_py.framework.placement.placer import Placer
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass


class OperationKind(Enum):
    ALLOCATE = "allocate"
    PIPELINE = "pipeline"
    EVICT = "evict"


_BECOMES: Final = {
    OperationKind.ALLOCATE: TaskStatus.ALLOCATED,
    OperationKind.PIPELINE: TaskStatus.PIPELINED,
    OperationKind.EVICT: TaskStatus.RELEASING,
}


class Motive(msgspec.Struct, frozen=True):
    """Why pods are evicted: the action, what their events say, and the pod that they go for, if there is one."""

    action: str
    message: str
    claimant: ObjectRef | None = None


class Operation(msgspec.Struct, eq=False):
    """One step: what was done to which tasks, and where they stood before."""

    kind: OperationKind
    placement: Placement
    statuses: NDArray[np.int8]
    nodes: NDArray[np.int32]
    motive: Motive | None = None


def _kind_and_job(operation: Operation) -> tuple[OperationKind, Job]:
    return operation.kind, operation.placement.job


class Statement:
    """Operations take effect in the session at once, and outside only with `commit`.

    A statement that is neither committed nor discarded keeps its places until the cycle ends, as for a gang that waits
    for resources to be released.
    """

    def __init__(self, cluster: ClusterCopy, placer: Placer, findings: Findings, moves: Moves, emit: Emit) -> None:
        self._cluster = cluster
        self._placer = placer
        self._findings = findings
        self._moves = moves
        self._emit = emit
        self._operations: list[Operation] = []

    def __len__(self) -> int:
        return len(self._operations)

    def allocate(self, job: Job, task_class: TaskClass, rows: Rows, nodes: Rows) -> Operation:
        """Tasks `rows` [K] take free resources of nodes `nodes` [K]."""
        return self._do(self._remember(OperationKind.ALLOCATE, job, task_class, rows, nodes))

    def pipeline(self, job: Job, task_class: TaskClass, rows: Rows, nodes: Rows) -> Operation:
        """Tasks `rows` [K] are promised resources of nodes `nodes` [K] that are still being released."""
        return self._do(self._remember(OperationKind.PIPELINE, job, task_class, rows, nodes))

    def evict(self, job: Job, task_class: TaskClass, rows: Rows, motive: Motive | None = None) -> Operation:
        """Evict running tasks `rows` [K] of one job and class; their nodes count them as releasing.

        The operation needs a `motive` by the time of `commit`: a plan that is still tried out has none yet.
        """
        nodes = self._cluster.ledger.tasks.node[rows].astype(np.intp)
        return self._do(self._remember(OperationKind.EVICT, job, task_class, rows, nodes, motive))

    def checkpoint(self) -> int:
        """A mark for `rollback`."""
        return len(self._operations)

    def rollback(self, mark: int) -> None:
        """Undo everything since the mark, last first."""
        while len(self._operations) > mark:
            self._undo(self._operations.pop())

    @property
    def placements(self) -> list[Placement]:
        """What was done, in order."""
        return [operation.placement for operation in self._operations]

    def move_to(self, nodes: Sequence[Rows]) -> None:
        """Give the allocated tasks of each operation these nodes instead, as many as they have."""
        placements = self.placements
        self.rollback(0)
        for each, others in zip(placements, nodes, strict=True):
            self.allocate(each.job, each.task_class, each.rows, others)

    def take_back(self, operation: Operation) -> None:
        """Undo one of the operations, whatever was done since."""
        self._operations.remove(operation)
        self._undo(operation)

    def _do(self, operation: Operation) -> Operation:
        kind, placement = operation.kind, operation.placement
        self._cluster.ledger.move(placement.rows, placement.status, placement.nodes)
        self._operations.append(operation)
        if kind is OperationKind.EVICT:
            self._placer.touch(placement.nodes)
            self._moves.deallocated(placement)
            return operation
        placement.job.placed(placement.task_class, placement.count)
        self._placer.touch(placement.nodes, promised=kind is OperationKind.PIPELINE)
        self._moves.allocated(placement)
        return operation

    def discard(self) -> None:
        """Undo everything."""
        self.rollback(0)

    def commit(self) -> None:
        """Emit bindings and evictions; pipelined places stay reserved."""
        effects: list[Effect] = []
        for (kind, job), operations in groupby(self._operations, key=_kind_and_job):
            if kind is OperationKind.ALLOCATE:
                effects.extend(self._binds(job, [operation.placement for operation in operations]))
            elif kind is OperationKind.EVICT:
                for operation in operations:
                    effects.extend(self._evictions(operation))
        self._operations.clear()
        self._emit(effects)

    def _undo(self, operation: Operation) -> None:
        placement = operation.placement
        self._cluster.ledger.restore(placement.rows, operation.statuses, operation.nodes)
        self._placer.touch(placement.nodes)
        if operation.kind is OperationKind.EVICT:
            self._moves.allocated(placement)
            return
        placement.job.placed(placement.task_class, -placement.count)
        self._findings.gave_back(placement.rows, placement.nodes)
        self._moves.deallocated(placement)

    def _remember(
        self,
        kind: OperationKind,
        job: Job,
        task_class: TaskClass,
        rows: Rows,
        nodes: Rows,
        motive: Motive | None = None,
    ) -> Operation:
        tasks, placement = self._cluster.ledger.tasks, Placement(job, task_class, rows, nodes, _BECOMES[kind])
        return Operation(kind, placement, tasks.status[rows], tasks.node[rows], motive)

    def _binds(self, job: Job, placements: Sequence[Placement]) -> list[Effect]:
        """The allocated tasks of a job are bound from now on. All at once: tasks that are all different were placed one
        by one."""
        rows, nodes = placements[0].rows, placements[0].nodes
        if len(placements) > 1:
            rows = np.concatenate([each.rows for each in placements])
            nodes = np.concatenate([each.nodes for each in placements])
        self._cluster.ledger.relabel(rows, TaskStatus.BINDING)
        return bindings(self._cluster, self._findings, repeat(job, len(rows)), rows, nodes)

    def _evictions(self, operation: Operation) -> list[Effect]:
        group, motive = operation.placement.job.info.ref, operation.motive
        assert motive is not None, "evictions have one"
        return [
            Evict(self._cluster.task_info(row).ref, group, motive.action, motive.message, motive.claimant)
            for row in operation.placement.rows.tolist()
        ]


class Statements:
    """The statements of one session."""

    def __init__(self, cluster: ClusterCopy, placer: Placer, findings: Findings, moves: Moves, emit: Emit) -> None:
        self._parts = cluster, placer, findings, moves
        self.emit = emit
        self._made: list[Statement] = []

    def __len__(self) -> int:
        return len(self._made)

    def new(self) -> Statement:
        made = Statement(*self._parts, self.emit)
        self._made.append(made)
        return made

    def series(self) -> Series:
        """A new, empty series of placements that are not undone."""
        return Series(*self._parts, self.emit)

    def undo_open(self, since: int) -> None:
        """Discard the statements after the first `since` that were neither committed nor discarded."""
        for statement in reversed(self._made[since:]):
            statement.discard()
