"""What the children of a node hold together, once those that can still grow are scaled down to the least of them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Siblings:
    """The children of one node, by position.

    A child that is blocked (saturated) counts as it is. A free one counts as if its share over its weight were that of
    the smallest free sibling, so what it holds is kept per unit of that ratio; who holds nothing counts as nothing.

    Sums are kept in a binary tree over the positions: an update costs O(log children), and the sum is a function of
    what the children are now, to the last bit, whatever they have been before. Running totals of floats would not be:
    undoing a placement would leave traces, and the order of queues would depend on what had been tried.
    """

    __slots__ = ("_leaves", "_rows", "_sums", "_width", "is_open", "ratios")

    def __init__(self, count: int, width: int) -> None:
        self._leaves = 1 << max(0, count - 1).bit_length()
        self._width = width
        # Row 1 is the sum of all, row i that of rows 2i and 2i+1. Half of a row is as is, half per unit.
        self._sums = np.zeros((2 * self._leaves, 2 * width))
        self._rows = list(self._sums)
        self.ratios: Vector = np.full(count, math.inf)
        """[C] share over weight of those that are free and hold something, else infinite."""
        self.is_open: NDArray[np.bool_] = np.zeros(count, dtype=np.bool_)
        """[C] whether the child is not saturated."""

    def put(self, position: int, held: Vector, share: float, weight: float, *, saturated: bool) -> None:
        """What one child is now; `refresh` or `rebuild` must follow."""
        row, width = self._rows[self._leaves + position], self._width
        row.fill(0.0)
        self.is_open[position] = not saturated
        self.ratios[position] = math.inf
        if share > 0 and saturated:
            row[:width] = held
        elif share > 0:
            np.multiply(held, weight / share, out=row[width:])
            self.ratios[position] = share / weight

    def put_all(self, rows: NDArray[np.float64], ratios: Vector, is_open: NDArray[np.bool_]) -> None:
        """The same for all children at once: `rows` [C, 2R] hold as is and per unit."""
        self._sums[self._leaves : self._leaves + len(rows)] = rows
        self.ratios[:] = ratios
        self.is_open[:] = is_open

    def refresh(self, position: int) -> None:
        """Mend the sums above one child."""
        rows, at = self._rows, (self._leaves + position) >> 1
        while at:
            np.add(rows[2 * at], rows[2 * at + 1], rows[at])
            at >>= 1

    def rebuild(self) -> None:
        """Mend all sums."""
        first = self._leaves >> 1
        while first:
            below = self._sums[2 * first : 4 * first]
            np.add(below[::2], below[1::2], self._sums[first : 2 * first])
            first >>= 1

    @property
    def saturated(self) -> bool:
        """Whether all are; true of nobody."""
        return not self.is_open.any()

    def together(self) -> Vector:
        """[R] what they count for in their parent."""
        total, width = self._rows[1], self._width
        least = float(self.ratios.min(initial=math.inf))
        if least == math.inf:
            return total[:width].copy()
        return total[:width] + total[width:] * least
