"""Counts placements and removals of tasks, and passes them on to plugins and pod counts."""

from __future__ import annotations

from collections.abc import Sequence

from volcano_py.framework.calls.dispatch import Call, Dispatch
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.job import Placement
from volcano_py.framework.placement.pod_counts import PodCounts


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
        self._pass_on(self._on_allocate, placement)

    def deallocated(self, placement: Placement) -> None:
        """Tasks have lost their places."""
        self._pass_on(self._on_deallocate, placement)

    def _pass_on(self, calls: Sequence[Call], placement: Placement) -> None:
        if self._pod_counts is not None:
            self._pod_counts.update(placement)
        self.count += 1
        for call in calls:
            call(placement)
