"""Counts placements and removals of tasks, and passes them on to plugins and pod counts."""

from __future__ import annotations

from collections.abc import Sequence

from volcano_py.framework.calls.dispatch import Call, Dispatch
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.job import Placement
from volcano_py.framework.placement.pod_counts import PodCounts
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass


class Moves:
    """See the module.

    Attributes:
        count: how often tasks were placed or taken away; while it stays the same, orders do.
    """

    def __init__(self, cluster: ClusterCopy, dispatch: Dispatch) -> None:
        self._cluster = cluster
        self._on_allocate, self._on_deallocate = dispatch.calls("on_allocate"), dispatch.calls("on_deallocate")
        self._pod_counts: PodCounts | None = None
        self.count = 0

    @property
    def pod_counts(self) -> PodCounts:
        """The number of pods that match terms, by node and domain; created when first asked for, and kept up to
        date.
        """
        if self._pod_counts is None:
            self._pod_counts = PodCounts(self._cluster)
        return self._pod_counts

    def allocated(self, placement: Placement) -> None:
        """Tasks have got places, or have kept them after all."""
        self.count_pods(placement.task_class, placement.rows)
        self.tell_allocated(placement)

    def tell_allocated(self, placement: Placement) -> None:
        """Pass it on to plugins only; `count_pods` has to follow, once the ledger has it."""
        self._pass_on(self._on_allocate, placement)

    def count_pods(self, task_class: TaskClass, rows: Rows) -> None:
        """The ledger has a new state of tasks `rows` [K], all of one class."""
        if self._pod_counts is not None:
            self._pod_counts.update(task_class, rows)

    def deallocated(self, placement: Placement) -> None:
        """Tasks have lost their places."""
        self.count_pods(placement.task_class, placement.rows)
        self._pass_on(self._on_deallocate, placement)

    def _pass_on(self, calls: Sequence[Call], placement: Placement) -> None:
        self.count += 1
        for call in calls:
            call(placement)
