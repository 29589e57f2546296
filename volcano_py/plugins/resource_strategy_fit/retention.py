"""The retention score: points for nodes without scarce resources, so that pods that need none go there.

A node gets 100 times the retention weight times the part, by weight, of the scarce resources that it does not have, and
nothing if it lacks what the pod asks for. What a node has is what it can offer, not what is free: a node whose GPUs are
all in use is spared too.
"""

from __future__ import annotations

import numpy as np

from volcano_py.framework.session import Session
from volcano_py.framework.views import Scores
from volcano_py.plugins.amounts.node_capacity import HIGHEST
from volcano_py.plugins.resource_strategy_fit.settings import Retention
from volcano_py.state.task_class import TaskClass


class RetentionScores:
    """The scores of one cycle, which no placement moves."""

    def __init__(self, ssn: Session, retention: Retention) -> None:
        nodes = ssn.ledger.nodes
        self._has = nodes.allocatable[: nodes.size] > 0
        absent = np.zeros(nodes.size)
        for name, weight in retention.resources.items():
            position = ssn.axis.index(name)
            absent += weight if position is None else weight * ~self._has[:, position]
        self._points: Scores = absent / sum(retention.resources.values()) * (HIGHEST * float(retention.weight))
        self._scores: dict[tuple[int, ...], Scores] = {}

    def of(self, task_class: TaskClass) -> Scores:
        """[N]"""
        requested = task_class.requested
        key = tuple(requested.tolist())
        found = self._scores.get(key)
        if found is None:
            found = self._scores[key] = self._points * self._has[:, requested].all(axis=1)
        return found
