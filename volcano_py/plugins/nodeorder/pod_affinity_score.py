"""Score of preferred affinity and anti-affinity between pods.

kube-scheduler's interpodaffinity score. Every pod in a node's domain adds the weight of each of the pod's own terms
that matches it, and of each of its terms that match the pod; anti-affinity is subtracted. What others *require* to be
near counts as well, with a weight of its own. The sums of the nodes that may take the pod are then stretched to 0..100,
the lowest to 0. Pods that are promised a place count as if they were there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.domain_scores import DomainScore, Levels, Population
from volcano_py.framework.placement.pod_counts import Tally
from volcano_py.framework.placement.row_groups import group_rows
from volcano_py.framework.session import Session
from volcano_py.framework.views import Scores
from volcano_py.plugins.amounts.node_capacity import HIGHEST
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass
from volcano_py.state.terms.affinity import AffinityTerm

HARD_WEIGHT: Final = 1
"""What the required affinity of pods that have a place counts: kube-scheduler's default for `hardPodAffinityWeight`."""


class _Pull(msgspec.Struct, frozen=True, eq=False):
    """Pods that count, with their weight. `own`: pods of the class are among them once they are placed."""

    weight: int
    ask: Callable[[], Tally]
    own: bool


_Pulls = list[_Pull]


class PodAffinityScore:
    """The score in one cycle. Where pods of a class care for each other, each one that is placed moves the sums of
    whole domains: then the score is a domain score."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._pulls_of: dict[int, _Pulls] = {}

    def scores(self, task_class: TaskClass, rows: Rows) -> NDArray[np.float64] | None:
        """[K] whole numbers from 0 to 100; None when all are the same, or when they are a domain score."""
        pulls = self._pulls(task_class)
        if not pulls or any(pull.own for pull in pulls):
            return None
        sums = np.zeros(len(rows), dtype=np.int64)
        for pull in pulls:
            tally = pull.ask()
            sums += pull.weight * _numbers(tally)[tally.domain_of[rows]]
        lowest, highest = int(sums.min()), int(sums.max())
        return None if lowest == highest else _stretched(sums, lowest, highest)

    def concerns(self, task_class: TaskClass) -> bool:
        """Whether any pods may ever count for the class in this cycle."""
        return bool(self._pulls(task_class))

    def domain_score(self, task_class: TaskClass, weight: int) -> DomainScore | None:
        """The scores times `weight`, if pods of the class care for each other."""
        pulls = self._pulls(task_class)
        if not any(pull.own for pull in pulls):
            return None
        level = np.zeros(len(self._ssn.nodes.nodes), dtype=np.int64)
        moving: list[tuple[int, Tally]] = []
        single: list[tuple[int, Tally]] = []
        for pull in pulls:
            tally = pull.ask()
            if pull.own and not tally.alone:
                moving.append((pull.weight, tally))
                continue
            level += pull.weight * _numbers(tally)[tally.domain_of]
            if pull.own:
                single.append((pull.weight, tally))
        bases, first_of_base = group_rows(
            [*(tally.domain_of + 1 for _, tally in moving), *(np.sign(tally.domain_of + 1) for _, tally in single)]
        )
        groups, first = group_rows([bases, level - level.min(initial=0)])
        rises = np.zeros(len(first_of_base), dtype=np.int64)
        for pull_weight, tally in single:
            rises += pull_weight * (tally.domain_of[first_of_base] >= 0)
        domains = [_Domains(each, tally.domain_of[first_of_base], _numbers(tally)) for each, tally in moving]
        levels = bases[first], level[first]
        return DomainScore(groups, len(first), lambda: _Company(Levels(*levels), domains, rises, weight))

    def _pulls(self, task_class: TaskClass) -> _Pulls:
        if not task_class.profile and not task_class.affinity_terms:
            return []
        pulls = self._pulls_of.get(task_class.row)
        if pulls is None:
            pulls = self._pulls_of[task_class.row] = self._find(task_class)
        return pulls

    def _find(self, task_class: TaskClass) -> _Pulls:
        counts = self._ssn.pod_counts
        preferred = [
            _Pull(
                _signed(one),
                partial(counts.matching, one.topology_key, (one.term,)),
                counts.selects(task_class, one.term),
            )
            for one in task_class.affinity_terms
            if not one.required
        ]
        of_others = [
            _Pull(weight, partial(counts.carrying, carried.topology_key, classes), task_class.row in classes)
            for carried, classes in counts.carriers(task_class)
            if (weight := _of_others(carried))
        ]
        return preferred + of_others


class _Domains(msgspec.Struct, frozen=True, eq=False):
    """Pods that pull with `weight`: `of_base` [B] the domain of each base, `numbers` how many there are in each."""

    weight: int
    of_base: NDArray[np.int32]
    numbers: NDArray[np.int64]


class _Company:
    """What nodes are worth as pods of the class are placed: a `DomainScoreAhead`.

    Nodes with one base are in the same domains of those pulls that are moved by the pods placed. The level of a group
    is the sum of all other pulls, and of those whose domains are single nodes.
    """

    def __init__(self, levels: Levels, domains: list[_Domains], rises: NDArray[np.int64], weight: int) -> None:
        """`rises` [B]: what a pod adds to the level of its node."""
        self._levels = levels
        self._domains = domains
        self._numbers = [each.numbers.copy() for each in domains]
        self._rises = rises
        self._weight = weight

    def scores(self, population: Population) -> Scores:
        sums = self._levels.levels.copy()
        for each, numbers in zip(self._domains, self._numbers, strict=True):
            sums += each.weight * numbers[each.of_base[self._levels.bases]]
        alive = sums[population > 0]
        lowest, highest = (int(alive.min()), int(alive.max())) if len(alive) else (0, 0)
        if lowest == highest:
            return np.zeros(len(sums))
        return self._weight * _stretched(sums, lowest, highest)

    def place(self, group: int) -> int:
        base = int(self._levels.bases[group])
        for each, numbers in zip(self._domains, self._numbers, strict=True):
            domain = each.of_base[base]
            if domain >= 0:
                numbers[domain] += 1
        return self._levels.rise(group, int(self._rises[base]))


def _stretched(sums: NDArray[np.int64], lowest: int, highest: int) -> Scores:
    """Sums as whole numbers from 0 to 100."""
    return np.floor(HIGHEST * ((sums - lowest) / (highest - lowest)))


def _numbers(tally: Tally) -> NDArray[np.int64]:
    """[D + 1] pods that count; none outside all domains."""
    numbers: NDArray[np.int64] = tally.taken.astype(np.int64)
    numbers[-1] = 0
    return numbers


def _signed(one: AffinityTerm) -> int:
    return -one.weight if one.anti else one.weight


def _of_others(carried: AffinityTerm) -> int:
    """What a term that is carried by others counts; required anti-affinity is the filter's affair."""
    if carried.required:
        return 0 if carried.anti else HARD_WEIGHT
    return _signed(carried)
