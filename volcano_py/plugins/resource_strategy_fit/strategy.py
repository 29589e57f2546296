"""The strategy score: how much of each resource a node would have in use, counted for it or against it.

Per resource that the pod asks for and that has a strategy, MostAllocated counts the part of the node that would be in
use with the pod on it, LeastAllocated the part that would be free. The score is their weighted mean, times 100, times
the plugin's weight. A resource that the node lacks, or of weight 0, adds nothing and counts in the divisor; a node that
would be exceeded scores 0.
"""

from __future__ import annotations

from functools import reduce

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.session import Session
from volcano_py.framework.views import NodeView, Scores
from volcano_py.plugins.amounts.node_capacity import HIGHEST, NodeCapacity, total, with_one_more
from volcano_py.plugins.resource_strategy_fit.settings import Scoring, Strategies
from volcano_py.state.task_class import TaskClass


class StrategyScore(msgspec.Struct, frozen=True, eq=False):
    """The score for one class of tasks, over the D resources that count for it."""

    positions: NDArray[np.intp]
    """[D] on the resource axis."""
    request: NDArray[np.int64]
    """[D]"""
    weights: NDArray[np.float64]
    """[D, 1]"""
    counts: NDArray[np.bool_]
    """[D, 1] which weights are not 0."""
    least: NDArray[np.bool_] | None
    """[D, 1] which resources are spread; None when all are."""
    highest: float
    """What a mean of 1 is worth, divided by the sum of the weights."""
    capacity: NodeCapacity

    def of(self, view: NodeView) -> Scores:
        """[K]"""
        rows, capacity = view.rows, self.capacity
        used = with_one_more(view.used[:, self.positions], self.request)
        amounts = capacity.of(rows)
        exceeded = (used > amounts) & self.counts
        parts = amounts - used
        if self.least is not None:
            parts = np.where(self.least, parts, used)
        parts *= self.weights
        parts /= capacity.divisors(rows)
        if not capacity.complete:
            has = capacity.has(rows)
            parts, exceeded = parts * has, exceeded & has
        scores = total(parts) * self.highest
        scores[reduce(np.logical_or, exceeded)] = 0.0
        return scores


class StrategyScores:
    """Makes the scores of a cycle's classes, which share what they can of the nodes' columns."""

    def __init__(self, ssn: Session, weight: int) -> None:
        """`weight`: the plugin's."""
        self._axis = ssn.axis
        self._nodes = ssn.ledger.nodes
        self._highest = HIGHEST * float(weight)
        self._capacities: dict[tuple[int, ...], NodeCapacity] = {}

    def score(self, task_class: TaskClass, strategies: Strategies) -> StrategyScore | None:
        """None when the class asks for nothing that counts: it scores 0 everywhere."""
        found = {position: strategies.of(self._axis.names[position]) for position in task_class.requested.tolist()}
        counting = {position: strategy for position, strategy in found.items() if strategy is not None}
        weight = sum(strategy.weight for strategy in counting.values())
        if not weight:
            return None
        positions = np.array(list(counting), dtype=np.intp)
        weights = np.array([[float(strategy.weight)] for strategy in counting.values()])
        least = np.array([[strategy.scoring is Scoring.LEAST_ALLOCATED] for strategy in counting.values()])
        key = tuple(counting)
        capacity = self._capacities.get(key)
        if capacity is None:
            capacity = self._capacities[key] = NodeCapacity(self._nodes, positions)
        return StrategyScore(
            positions=positions,
            request=task_class.request[positions],
            weights=weights,
            counts=weights > 0,
            least=None if least.all() else least,
            highest=self._highest / weight,
            capacity=capacity,
        )
