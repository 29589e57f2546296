"""Score of soft topology spread constraints (ScheduleAnyway).

kube-scheduler's PodTopologySpread score: a node is worth the less, the more matching pods its domains have. Each
constraint counts with the logarithm of the number of its domains among the nodes that may take the pod, so that many
small domains weigh as much as few large ones; `maxSkew` - 1 waters differences down. The sum is rounded, then turned
round: the fewest pods get 100. Nodes that lack a topology key of the pod's own constraints get 0.

Nodes are in one group when they are in the same domains and (where single nodes are domains) have as many pods: so the
score of a gang's next pod follows from a few numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.domain_scores import Levels, Population
from volcano_py.framework.views import Scores
from volcano_py.plugins.amounts.node_capacity import HIGHEST
from volcano_py.state.nodes.index import ABSENT

HOSTNAME: Final = "kubernetes.io/hostname"
"""Domains of this key are single nodes, counted one by one, whatever the constraint's node policies say."""

Counts = NDArray[np.int64]


class SoftConstraint(msgspec.Struct, frozen=True, eq=False):
    """One constraint over groups of nodes that share all domains but the node itself: *bases*.

    Attributes:
        codes: [B] the domain of each base, ABSENT where it lacks the topology key.
        counted: [B] whether pods on its nodes count.
        per_domain: [D] matching pods of the counted nodes of each domain.
        of_nodes: the domains are single nodes (the key is HOSTNAME), whose pods are the levels of the groups.
        own: the pods that are placed are counted themselves.
    """

    codes: NDArray[np.int32]
    counted: NDArray[np.bool_]
    per_domain: Counts
    max_skew: int
    of_nodes: bool
    own: bool


class Crowds:
    """What nodes are worth as pods of the class are placed: a `DomainScoreAhead`."""

    def __init__(self, constraints: Sequence[SoftConstraint], levels: Levels, weight: int, *, all_keys: bool) -> None:
        """`levels` are the groups: their base, and the pods on their nodes that count where nodes are domains.

        `all_keys`: nodes that lack a topology key get no score, as for a pod's own constraints; for constraints that
        stand in for missing ones they are only not counted.
        """
        self._constraints = constraints
        self._levels = levels
        self._weight = weight
        self._pods = [constraint.per_domain.copy() for constraint in constraints]
        self._judged = np.ones(len(constraints[0].codes), dtype=np.bool_)
        if all_keys:
            for constraint in constraints:
                self._judged &= constraint.codes != ABSENT
        self._rise = int(any(constraint.of_nodes and constraint.own for constraint in constraints))

    def scores(self, population: Population) -> Scores:
        bases = self._levels.bases
        judged = self._judged[bases]
        alive = judged & (population > 0)
        crowds = np.zeros(len(bases))
        for constraint, pods in zip(self._constraints, self._pods, strict=True):
            codes = constraint.codes[bases]
            if constraint.of_nodes:
                size, there = int(population[alive].sum()), self._levels.levels
            else:
                size, there = _distinct(codes[alive], len(pods)), pods.take(codes, mode="clip")
            counted = there * math.log(size + 2) + (constraint.max_skew - 1)
            crowds += np.where(codes == ABSENT, 0.0, counted)
        return self._weight * _turned_round(_rounded(crowds), judged, alive).astype(np.float64)

    def place(self, group: int) -> int:
        base = int(self._levels.bases[group])
        for constraint, pods in zip(self._constraints, self._pods, strict=True):
            if constraint.own and constraint.counted[base] and not constraint.of_nodes:
                pods[constraint.codes[base]] += 1
        return self._levels.rise(group, self._rise)


def _distinct(codes: NDArray[np.int32], domains: int) -> int:
    """How many domains these are; to be in none is one more."""
    return int(np.count_nonzero(np.bincount(codes - ABSENT, minlength=domains)))


def _rounded(values: NDArray[np.float64]) -> Counts:
    """To the nearest integer, halves away from zero (Go's math.Round); nothing here is negative."""
    whole = np.floor(values)
    rounded: Counts = (whole + (values - whole >= 0.5)).astype(np.int64)
    return rounded


def _turned_round(crowds: Counts, judged: NDArray[np.bool_], alive: NDArray[np.bool_]) -> Counts:
    """[G] from 0 to 100, by the least and the most of the groups that are `alive`: judged, and with nodes."""
    scores: Counts = np.zeros(len(crowds), dtype=np.int64)
    living = crowds[alive]
    if not len(living):
        return scores
    least, most = int(living.min()), int(living.max())
    scores[judged] = HIGHEST if most == 0 else HIGHEST * (most + least - crowds[judged]) // most
    return scores
