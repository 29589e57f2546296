"""What the children of a node hold together, once those that can still grow are scaled down to the least of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

NOTHING: Final = math.inf
"""The ratio of a child that is saturated or holds nothing: it has no part in the least."""
# Rows that are summed at a time: to add up sixteen numbers takes Python little longer than two.
FAN: Final = 16

Columns = list[list[float]]
"""[R, children] or [R, blocks]. Lists, because a turn of one job looks at a few numbers in each of a few nodes."""


class Parts(NamedTuple):
    """What each child counts for: as it is [C, R], per unit of the least ratio [C, R], its ratio [C] (see `NOTHING`);
    and whether it is not saturated [C]."""

    as_is: NDArray[np.float64]
    per_unit: NDArray[np.float64]
    ratio: NDArray[np.float64]
    is_open: NDArray[np.bool_]


class Siblings:
    """The children of one node, by position.

    A child that is blocked (saturated) counts as it is. A free one counts as if its share over its weight were that of
    the smallest free sibling, so what it holds is kept per unit of that ratio; a sibling that holds nothing counts as
    nothing.

    Sums are kept in a tree of blocks over the positions: an update costs O(log children), and the sum is a function of
    what the children are now, to the last bit, whatever they have been before. Running totals of floats would not be:
    undoing a placement would leave traces, and the order of queues would depend on what had been tried.
    """

    __slots__ = ("_as_is", "_is_open", "_least", "_open", "_per_unit", "_side", "_stale")

    def __init__(self, count: int, width: int) -> None:
        sizes = [max(1, count)]
        while sizes[-1] > 1 or len(sizes) == 1:
            sizes.append(-(-sizes[-1] // FAN))
        # Level 0 has a number for each child, the last one a single number: the sum of all.
        self._as_is: list[Columns] = [[[0.0] * size for _ in range(width)] for size in sizes]
        self._per_unit: list[Columns] = [[[0.0] * size for _ in range(width)] for size in sizes]
        self._least = [[NOTHING] * size for size in sizes]
        self._side: list[list[Columns] | None] = [None] * count
        self._stale: list[list[Columns]] = []
        self._is_open = [False] * count
        self._open = 0

    def put(self, position: int, held: Sequence[float], share: float, weight: float, *, saturated: bool) -> None:
        """What one child is now; `refresh` or `rebuild` must follow.

        Args:
            held: [R] what it holds.
        """
        before, side, factor, least = self._side[position], None, 1.0, NOTHING
        if share > 0:
            if saturated:
                side = self._as_is
            else:
                side, factor, least = self._per_unit, weight / share, share / weight
            self._stale.append(side)
            for column, amount in zip(side[0], held, strict=True):
                column[position] = amount * factor
        if before is not side:
            self._side[position] = side
            if before is not None:
                self._stale.append(before)
                for column in before[0]:
                    column[position] = 0.0
        self._least[0][position] = least
        if self._is_open[position] == saturated:
            self._is_open[position] = not saturated
            self._open += -1 if saturated else 1

    def put_all(self, as_is: Columns, per_unit: Columns, ratios: list[float], is_open: list[bool]) -> None:
        """The same for all children at once; `rebuild` must follow.

        Args:
            as_is: [R, C] what counts as it is.
            per_unit: [R, C] what counts per unit of the least ratio.
            ratios: [C] share over weight of those that are free and hold something, else NOTHING.
            is_open: [C] whether the child is not saturated.
        """
        self._as_is[0], self._per_unit[0], self._least[0] = as_is, per_unit, ratios
        self._side = [
            None if is_free and ratio == NOTHING else self._per_unit if is_free else self._as_is
            for ratio, is_free in zip(ratios, is_open, strict=True)
        ]
        self._is_open = is_open
        self._open = sum(is_open)

    def refresh(self, position: int) -> None:
        """Update the sums above one child."""
        for level in range(len(self._least) - 1):
            position //= FAN
            self._sum_up(level, position)
        self._stale.clear()

    def rebuild(self) -> None:
        """Compute everything again."""
        self._stale = [self._as_is, self._per_unit]
        for level in range(len(self._least) - 1):
            for block in range(len(self._least[level + 1])):
                self._sum_up(level, block)
        self._stale.clear()

    def _sum_up(self, level: int, block: int) -> None:
        first, above = block * FAN, level + 1
        last = first + FAN
        for side in self._stale:
            sums = side[above]
            for dim, column in enumerate(side[level]):
                sums[dim][block] = sum(column[first:last])
        self._least[above][block] = min(self._least[level][first:last])

    @property
    def open(self) -> int:
        """How many are not saturated."""
        return self._open

    @property
    def any_may_grow(self) -> bool:
        """Whether one that holds something is not saturated."""
        return self._least[-1][0] != NOTHING

    def parts(self) -> Parts:
        """As of now, child by child."""
        count = len(self._side)
        as_is, per_unit = (np.array(side[0])[:, :count].T for side in (self._as_is, self._per_unit))
        return Parts(as_is, per_unit, np.array(self._least[0][:count]), np.array(self._is_open, dtype=np.bool_))

    @property
    def saturated(self) -> bool:
        """Whether all are; true without any."""
        return not self._open

    def together(self) -> list[float]:
        """[R] what they count for in their parent."""
        least = self._least[-1][0]
        if least == NOTHING:
            return [column[0] for column in self._as_is[-1]]
        both = zip(self._as_is[-1], self._per_unit[-1], strict=True)
        return [as_is[0] + per_unit[0] * least for as_is, per_unit in both]
