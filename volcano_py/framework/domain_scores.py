"""Leanings: scores that lie on whole groups of nodes, and move with every task of a class that is placed.

The wish to be spread over zones is one: after a pod in zone a, all nodes there are worth less to the next. Nodes are in
one group when the leaning cannot tell them apart, and none of them can be told from the others unless a task is placed
on it; then that node may go over to another group. So the placer can look ahead with the score of a group in place of
the scores of its nodes, and place a whole gang in one sweep (see placement/domain_sweep.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.placement.row_groups import Combinations, alike
from volcano_py.framework.views import Scores
from volcano_py.state.table.ledger import Rows

Groups = NDArray[np.intp]
Population = NDArray[np.int64]
"""[G] how many nodes of each group may take the next task."""

# Where leanings are added, scores are multiples of this, and sums of them exact as long as they stay below 2^32: nodes
# that are equal then are so whichever of their scores were added first.
_GRID: Final = 2.0**-20


class LeaningAhead(Protocol):
    """A leaning's private copy of its books, for supposing placements that have not been made."""

    def scores(self, population: Population) -> Scores:
        """[G] the scores of all groups known so far, finite numbers; those of groups without nodes do not matter."""

    def place(self, group: int) -> int:
        """A task goes to a node of `group`. Returns the group the node is in afterwards; one that has not been there
        has the next number."""


class Leaning(msgspec.Struct, frozen=True, eq=False):
    """Scores as they stand for one class.

    Attributes:
        groups: [N] the group of each node.
        size: number of groups.
        ahead: starts looking ahead from here.
    """

    groups: Groups
    size: int
    ahead: Callable[[], LeaningAhead]

    def over(self, rows: Rows) -> Scores:
        """[K] scores of the nodes `rows`, which are all that may take a task."""
        groups = self.groups[rows]
        population = np.bincount(groups, minlength=self.size).astype(np.int64)
        return self.ahead().scores(population)[groups]


def together(leanings: Sequence[Leaning]) -> Leaning:
    """The sum of several leanings; nodes are in one group when none of them tells them apart."""
    if len(leanings) == 1:
        return leanings[0]
    groups, first = alike([leaning.groups for leaning in leanings])
    parts = [leaning.groups[first] for leaning in leanings]
    return Leaning(groups, len(first), lambda: _Together(leanings, parts))


def on_grid(scores: Scores) -> Scores:
    """Scores as multiples of a millionth, so that sums of them are exact."""
    rounded: Scores = np.rint(scores / _GRID) * _GRID
    return rounded


def number_on_grid(score: float) -> float:
    """The same of a single score."""
    return round(score / _GRID) * _GRID


class Levels:
    """Groups of nodes by two things: a base that stays, and a level that rises when a task is placed on the node."""

    def __init__(self, bases: NDArray[np.integer], levels: NDArray[np.integer]) -> None:
        """[G] of each group; no two have both alike."""
        self._groups = Combinations([bases, levels])

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


class _Together:
    def __init__(self, leanings: Sequence[Leaning], parts: Sequence[Groups]) -> None:
        """`parts`: for each leaning [G] which of its groups each group is part of."""
        self._ahead = [leaning.ahead() for leaning in leanings]
        self._sizes = [leaning.size for leaning in leanings]
        self._groups = Combinations(parts)

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
