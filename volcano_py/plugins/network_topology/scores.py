"""Scores that move while pods are placed: towards the pods of one's job, and of all other pods to full HyperNodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.domain_scores import Population
from volcano_py.framework.views import Scores
from volcano_py.state.topology.tree import ROOT, Tree


class Gathering:
    """Nearness to a job's pods, from 0 to 1, times `weight`.

    1 in the lowest domain that holds all of them, elsewhere the less the higher the tier that a node shares with it; 0
    outside of all HyperNodes. Among the nearest domains, those with more of the job's pods are better.
    """

    def __init__(self, tree: Tree, placed: NDArray[np.int64], pods: int, weight: float) -> None:
        self._tree = tree
        self._placed = placed.copy()
        self._pods = max(pods, 1)
        self._weight = weight
        found = np.flatnonzero(placed)
        self._domain = tree.common(found) if len(found) else None

    def scores(self, population: Population) -> Scores:
        tree = self._tree
        if self._domain is None:
            return np.zeros(len(population))
        top, lowest = int(tree.tiers[ROOT]), int(tree.tiers.min())
        nearness = np.ones(len(tree))
        if top > lowest:
            nearness = (top - tree.common_tiers(self._domain)) / (top - lowest)
        nearness[self._domain] = 1.0
        nearness[ROOT] = 0.0
        willing = population > 0
        if willing.any():
            nearest = willing & (nearness == nearness[willing].max())
            nearness = nearness + np.where(nearest, self._placed / self._pods, 0.0)
        scores: Scores = nearness * self._weight
        return scores

    def place(self, group: int) -> int:
        self._placed[group] += 1
        here = group if self._domain is None else self._domain
        self._domain = self._tree.common(np.array([here, group], dtype=np.intp))
        return group


class Filling:
    """How full HyperNodes are with one more pod, for pods that have no network of their own to keep to.

    Attributes of the constructor: `used`, `allocatable` and `request` are [H, D], [H, D] and [D] of the D resources
    that count, `weights` [D] what they weigh; `factors` [T] what the tiers weigh, whose numbers are `tiers` [T].
    """

    def __init__(
        self,
        tree: Tree,
        used: NDArray[np.int64],
        allocatable: NDArray[np.int64],
        request: NDArray[np.int64],
        weights: NDArray[np.float64],
        fading: float,
        weight: float,
    ) -> None:
        self._tree = tree
        self._used = used.copy()
        self._allocatable = allocatable
        self._request = request
        self._weights = weights
        self._weight = weight
        tiers = np.unique(tree.tiers)
        self._factors = np.power(fading, np.arange(len(tiers), dtype=np.float64))
        self._of_tier = self._domains_of_tiers(tiers)

    def _domains_of_tiers(self, tiers: NDArray[np.int64]) -> NDArray[np.intp]:
        """[H, T] the domain of each tier that a domain is in; -1 for none."""
        tree = self._tree
        found = np.full((len(tree), len(tiers)), -1, dtype=np.intp)
        place = np.searchsorted(tiers, tree.tiers)
        for domain in range(len(tree)):
            found[domain : tree.end[domain], place[domain]] = domain
        return found

    def scores(self, population: Population) -> Scores:  # noqa: ARG002
        used = self._used + self._request
        has = self._allocatable > 0
        parts = np.where(has, used / np.where(has, self._allocatable, 1), 0.0)
        full = (parts @ self._weights) / self._weights.sum()
        full[((used > self._allocatable) & (self._weights > 0)).any(axis=1)] = 0.0
        of_tier = np.where(self._of_tier >= 0, full[self._of_tier], 1.0)
        scores: Scores = (of_tier @ self._factors) / self._factors.sum() * self._weight
        return scores

    def place(self, group: int) -> int:
        for domain in self._tree.ancestors(group):
            self._used[domain] += self._request
        return group
