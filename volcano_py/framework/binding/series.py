"""A series: placements of single tasks, one after the other, that are recorded and bound together."""

from __future__ import annotations

import numpy as np

from volcano_py.api.effects import Emit
from volcano_py.framework.binding.bindings import bindings
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.findings import Findings
from volcano_py.framework.job import Job, Placement
from volcano_py.framework.moves import Moves
from volcano_py.framework.placement.placer import Placer
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass


class Series:
    """Like a statement that is committed after each placement, for less: nothing of it can be undone.

    Plugins hear of each placement at once, so the next turn is decided with it. The tables, the placer and the
    binder follow with `commit`. Until then, nothing may be asked whose answer follows from them.
    """

    def __init__(self, cluster: ClusterCopy, placer: Placer, findings: Findings, moves: Moves, emit: Emit) -> None:
        self._cluster = cluster
        self._placer = placer
        self._findings = findings
        self._moves = moves
        self._emit = emit
        self._placements: list[Placement] = []

    def __len__(self) -> int:
        return len(self._placements)

    def allocate(self, job: Job, task_class: TaskClass, row: Rows, node: Rows) -> None:
        """Task `row` [1] takes free resources of node `node` [1]; all tasks of a series are of one class."""
        placement = Placement(job, task_class, row, node)
        self._moves.tell_allocated(placement)
        self._placements.append(placement)

    def commit(self) -> None:
        """Record all, and emit the bindings in the order of the placements."""
        if not self._placements:
            return
        placements, self._placements = self._placements, []
        rows = np.concatenate([each.rows for each in placements])
        nodes = np.concatenate([each.nodes for each in placements])
        self._cluster.ledger.move(rows, TaskStatus.BINDING, nodes)
        self._placer.touch(nodes)
        self._moves.count_pods(placements[0].task_class, rows)
        self._emit(bindings(self._cluster, self._findings, [each.job for each in placements], rows, nodes))
