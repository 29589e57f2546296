"""Domain scores: scores of whole groups of nodes, which change with every task of a class that is placed.

A preferred spread over zones is one: after a pod in zone a, all nodes there are worth less to the next. Two nodes are
in one group when the domain score treats them alike. They stay so until a task is placed on one of them; that node may
then move to another group. So the placer can look ahead by groups instead of nodes, and place a whole gang in one
sweep (see placement/domain_sweep.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.placement.row_groups import RowGroups, group_rows
from volcano_py.framework.views import Scores
from volcano_py.state.table.table import Rows

Groups = NDArray[np.intp]
Population = NDArray[np.int64]
"""[G] how many nodes of each group may take the next task."""

# Where domain scores are added, scores are multiples of this. Their sums are exact as long as they stay below 2^32, so
# equal nodes stay equal in whatever order their scores were added.
_GRID: Final = 2.0**-20


class DomainScoreAhead(Protocol):
    """A domain score's private copy of its counts, on which placements are tried that have not been made."""

    def scores(self, population: Population) -> Scores:
        """[G] the scores of all groups known so far, finite numbers; those of groups without nodes do not matter."""

    def place(self, group: int) -> int:
        """A task goes to a node of `group`. Returns the group that the node is in afterwards; a new group has the next
        number."""


class DomainScore(msgspec.Struct, frozen=True, eq=False):
    """Scores of groups of nodes for one class at this moment.

    Attributes:
        groups: [N] the group of each node.
        size: number of groups.
        ahead: starts looking ahead from here.
    """

    groups: Groups
    size: int
    ahead: Callable[[], DomainScoreAhead]

    def over(self, rows: Rows) -> Scores:
        """[K] scores of the nodes `rows`, which are all that may take a task."""
        groups = self.groups[rows]
        population = np.bincount(groups, minlength=self.size).astype(np.int64)
        return self.ahead().scores(population)[groups]


def sum_of(domain_scores: Sequence[DomainScore]) -> DomainScore:
    """The sum of several domain scores; two nodes are in one group when all of them treat the two alike."""
    if len(domain_scores) == 1:
        return domain_scores[0]
    groups, first = group_rows([each.groups for each in domain_scores])
    parts = [each.groups[first] for each in domain_scores]
    return DomainScore(groups, len(first), lambda: _SumAhead(domain_scores, parts))


def on_grid(scores: Scores) -> Scores:
    """Scores rounded to a millionth, so that sums of them are exact."""
    rounded: Scores = np.rint(scores / _GRID) * _GRID
    return rounded


def number_on_grid(score: float) -> float:
    """One score, rounded in the same way."""
    return round(score / _GRID) * _GRID


class Levels:
    """Groups of nodes by two numbers: a base that stays, and a level that rises when a task is placed on the node."""

    def __init__(self, bases: NDArray[np.integer], levels: NDArray[np.integer]) -> None:
        """[G] of each group; no two groups have the same base and level."""
        self._groups = RowGroups([bases, levels])

    @property
    def bases(self) -> NDArray[np.int64]:
        """[G] of each group."""
        return self._groups.columns[0]

    @property
    def levels(self) -> NDArray[np.int64]:
        """[G] of each group."""
        return self._groups.columns[1]

    def rise(self, group: int, by: int) -> int:
        """The group with the same base whose level is higher by `by`."""
        return self._groups.number(int(self.bases[group]), int(self.levels[group]) + by) if by else group


class _SumAhead:
    def __init__(self, domain_scores: Sequence[DomainScore], parts: Sequence[Groups]) -> None:
        """`parts`: for each domain score, [G] the one of its groups that each group of the sum is part of."""
        self._ahead = [each.ahead() for each in domain_scores]
        self._sizes = [each.size for each in domain_scores]
        self._groups = RowGroups(parts)

    def scores(self, population: Population) -> Scores:
        total = np.zeros(len(population))
        for ahead, part, size in zip(self._ahead, self._groups.columns, self._sizes, strict=True):
            of_part = np.bincount(part, weights=population, minlength=size).astype(np.int64)
            total += on_grid(ahead.scores(of_part))[part]
        return total

    def place(self, group: int) -> int:
        parts = [ahead.place(int(part[group])) for ahead, part in zip(self._ahead, self._groups.columns, strict=True)]
        self._sizes = [max(size, part + 1) for size, part in zip(self._sizes, parts, strict=True)]
        return self._groups.number(*parts)
