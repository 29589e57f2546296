"""Score of the company a pod would have: preferred affinity and anti-affinity between pods.

kube-scheduler's interpodaffinity score. Every pod in a node's domain adds the weight of each of the pod's own terms
that matches it, and of each of its terms that match the pod; anti-affinity is subtracted. What others *require* to be
near counts as well, with a weight of its own. The sums of the nodes that may take the pod are then stretched to 0..100,
the lowest to 0. Pods that are promised a place count as if they were there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.plugin import Reach
from volcano_py.framework.pod_counts import Tally
from volcano_py.framework.session import Session
from volcano_py.plugins.node_capacity import HIGHEST
from volcano_py.state.affinity import AffinityTerm
from volcano_py.state.ledger import Rows
from volcano_py.state.task_class import TaskClass

HARD_WEIGHT: Final = 1
"""What the required affinity of pods that have a place counts: kube-scheduler's default for `hardPodAffinityWeight`."""

_Pulls = list[tuple[int, Callable[[], Tally]]]
"""Weights, and the pods that count with them."""


class PodAffinityScore:
    """The score in one cycle."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._pulls_of: dict[int, _Pulls] = {}

    def reach(self, task_class: TaskClass) -> Reach:
        """Where pods of a class care for each other, each one that is placed moves the sums of whole domains."""
        if not task_class.profile:
            return Reach.FEASIBLE_SET
        counts = self._ssn.pod_counts
        is_own = any(_of_others(one) and counts.selects(task_class, one.term) for one in task_class.affinity_terms)
        return Reach.DOMAIN if is_own else Reach.FEASIBLE_SET

    def scores(self, task_class: TaskClass, rows: Rows) -> NDArray[np.float64] | None:
        """[K] whole numbers from 0 to 100; None when all are the same."""
        pulls = self._pulls(task_class)
        if not pulls:
            return None
        sums = np.zeros(len(rows), dtype=np.int64)
        for weight, ask in pulls:
            tally = ask()
            numbers = tally.taken
            numbers[-1] = 0
            sums += weight * numbers[tally.domain_of[rows]].astype(np.int64)
        lowest, highest = int(sums.min()), int(sums.max())
        if lowest == highest:
            return None
        return np.floor(HIGHEST * ((sums - lowest) / (highest - lowest)))

    def _pulls(self, task_class: TaskClass) -> _Pulls:
        if not task_class.profile and not task_class.affinity_terms:
            return []
        pulls = self._pulls_of.get(task_class.row)
        if pulls is None:
            pulls = self._pulls_of[task_class.row] = self._find(task_class)
        return pulls

    def _find(self, task_class: TaskClass) -> _Pulls:
        counts = self._ssn.pod_counts
        own: _Pulls = [
            (_signed(one), partial(counts.matching, one.topology_key, (one.term,)))
            for one in task_class.affinity_terms
            if not one.required
        ]
        others: _Pulls = [
            (weight, partial(counts.carrying, carried.topology_key, classes))
            for carried, classes in counts.carriers(task_class)
            if (weight := _of_others(carried))
        ]
        return own + others


def _signed(one: AffinityTerm) -> int:
    return -one.weight if one.anti else one.weight


def _of_others(carried: AffinityTerm) -> int:
    """What a term that is carried by others counts; required anti-affinity is the filter's affair."""
    if carried.required:
        return 0 if carried.anti else HARD_WEIGHT
    return _signed(carried)
