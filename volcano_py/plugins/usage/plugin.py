"""usage: refuse and score nodes by their measured load, in addition to what pods ask for.

Measurements of the last five minutes count; a node without one is treated as if the plugin were not there. A node whose
CPU or memory is loaded beyond its threshold takes no more pods (switch: `enablePredicate`); of the others the less
loaded score more. What was placed since a node was measured is added to its load as an estimate. The plugin reads the
snapshot; the `metrics` section of the configuration says where measurements come from.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.config.flags import Flags
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.job import Placement
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, NodeView, Scores
from volcano_py.plugins.amounts.measured_load import MeasuredLoad, Parts
from volcano_py.plugins.refusals import refusal_for_good
from volcano_py.plugins.usage.arguments import UsageArguments
from volcano_py.plugins.usage.estimates import Amounts, Estimator
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import CPU, MEMORY
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

_HIGHEST: Final = 100.0
_NO_LIMITS: Final = "0/0"


class Usage(Plugin):
    """See the module."""

    name = "usage"
    allows_series = True
    sees_jobs_alike = True
    evictions_last = True
    arguments_type = UsageArguments

    def __init__(self, arguments: Any, flags: Flags) -> None:
        super().__init__(arguments, flags)
        self._estimator = Estimator(arguments)
        self._weights = np.array((arguments.cpu_weight, arguments.memory_weight), dtype=np.float64)

    def task_variants(self, cluster: ClusterCopy, job_row: int, rows: Rows) -> Sequence[str]:  # noqa: ARG002
        limits = [cluster.task_info(row).limits for row in rows.tolist()]
        return ["" if pair == (0, 0) else f"{pair[0]}/{pair[1]}" for pair in limits]

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        nodes = ssn.ledger.nodes
        self._capacity: Parts = np.maximum(nodes.allocatable[: nodes.size, [CPU, MEMORY]], 1).astype(np.float64)
        measured = MeasuredLoad.of(ssn)
        self._load, self._measured = measured.parts, measured.moments
        self._codes = self._answers()
        self._shadow: Amounts = np.zeros((nodes.size, 2), dtype=np.int64)
        """[N, 2] estimates of pods that were placed and not measured yet."""
        self._counted: dict[int, Amounts] = {}
        """Task row → its part of them."""
        self._lifted: dict[int, Amounts] = {}
        """The same of pods that were there and are evicted in this cycle."""
        for row in measured.without(ssn).tolist():
            node = int(ssn.ledger.tasks.node[row])
            self._count(row, node, self._estimate(row, node))

    def predicate_follows_from(self) -> Hashable:
        """Which nodes are loaded beyond which threshold."""
        return self._loaded().tobytes()

    def scores_follow_from(self) -> Hashable:
        """What was measured, and when: pods that were scheduled later count as expected load."""
        return self._load.tobytes(), self._measured.tobytes()

    # -- nodes -----------------------------------------------------------------------------------------------------

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:  # noqa: ARG002
        return self._codes.take(view.rows)

    def _answers(self) -> Codes:
        """[N]"""
        codes = np.full(len(self._load), FITS, dtype=np.int32)
        for over, (what, percent) in zip(self._loaded(), self._limits(), strict=True):
            message = f"node(s) had more than {percent} % of their {what} in use"
            codes[over & (codes == FITS)] = refusal_for_good(self._ssn, message)
        return codes

    def _limits(self) -> tuple[tuple[str, int], ...]:
        return ("CPU", self.arguments.cpu_threshold), ("memory", self.arguments.memory_threshold)

    def _loaded(self) -> NDArray[np.bool_]:
        """[2, N] nodes that are loaded beyond each of the limits."""
        most = np.array([percent for _, percent in self._limits()])
        loaded: NDArray[np.bool_] = most[:, None] < np.nan_to_num(self._load).T * 100
        return loaded

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        total = float(self._weights.sum())
        if not total or not self.arguments.weight:
            return np.zeros(len(view))
        composite = self._composite(view.rows, self._shadow_with(task_class, view))
        free = ((1.0 - composite) * self._weights).sum(axis=1) / total
        scores: Scores = np.nan_to_num(free) * (_HIGHEST * self.arguments.weight)
        return scores

    def _composite(self, rows: Rows, shadow: Amounts) -> Parts:
        """[K, 2] measured and expected load together, as parts of the node; NaN where nothing was measured."""
        loaded: Parts = np.minimum(self._load[rows] + shadow / self._capacity[rows], 1.0)
        return loaded

    def _shadow_with(self, task_class: TaskClass, view: NodeView) -> Amounts:
        """[K, 2] the estimates on the nodes, with those of the pods of the class that the view supposes there."""
        shadow = self._shadow[view.rows]
        supposed = view.supposed
        if supposed is None:
            return shadow
        limits = _limits(task_class.variant.get(self.name, _NO_LIMITS))
        estimate = self._estimator.of(task_class.request, limits)
        for step in range(int(supposed.max(initial=0))):
            more = np.flatnonzero(supposed > step)
            risky = self._is_risky(view.rows[more], shadow[more])
            shadow[more] += estimate.on(risky, self.arguments.risk_factor)
        return shadow

    def _is_risky(self, rows: Rows, shadow: Amounts) -> NDArray[np.bool_]:
        """[K] nodes of which the weighted load has reached the threshold."""
        weights = self._weights if self._weights.any() else np.ones(2)
        load = (np.nan_to_num(self._composite(rows, shadow)) * weights).sum(axis=1) / weights.sum()
        risky: NDArray[np.bool_] = load >= self.arguments.risk_threshold
        return risky

    # -- what is not measured yet ----------------------------------------------------------------------------------

    def on_allocate(self, placement: Placement) -> None:
        before = self._ssn.snapshot.ledger.tasks.status
        for row, node in zip(placement.rows.tolist(), placement.nodes.tolist(), strict=True):
            if row in self._lifted:  # its eviction was taken back
                self._count(row, node, self._lifted.pop(row))
            elif before[row] == TaskStatus.PENDING and self._measured[node] >= 0:
                self._count(row, node, self._estimate(row, node))

    def on_deallocate(self, placement: Placement) -> None:
        before = self._ssn.snapshot.ledger.tasks.status
        for row, node in zip(placement.rows.tolist(), placement.nodes.tolist(), strict=True):
            amounts = self._counted.pop(row, None)
            if amounts is not None:
                self._shadow[node] -= amounts
                if before[row] != TaskStatus.PENDING:
                    self._lifted[row] = amounts

    def _count(self, row: int, node: int, amounts: Amounts) -> None:
        self._counted[row] = amounts
        self._shadow[node] += amounts

    def _estimate(self, row: int, node: int) -> Amounts:
        """[2] of a task that comes to the node."""
        where = np.array([node], dtype=np.intp)
        risky = self._is_risky(where, self._shadow[where])
        estimate = self._estimator.of(self._ssn.task_class(row).request, self._ssn.task_info(row).limits)
        amounts: Amounts = estimate.on(risky, self.arguments.risk_factor)[0]
        return amounts


def _limits(variant: str) -> tuple[int, int]:
    cpu, _, memory = variant.partition("/")
    return int(cpu), int(memory)
