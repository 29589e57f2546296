"""What the children of a node hold together, once those that can still grow are scaled down to the least of them."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

NOTHING: Final = math.inf
"""The ratio of a child that is saturated or holds nothing: it has no part in the least."""


class Siblings:
    """The children of one node, by position.

    A child that is blocked (saturated) counts as it is. A free one counts as if its share over its weight were that of
    the smallest free sibling, so what it holds is kept per unit of that ratio; who holds nothing counts as nothing.

    Sums are kept in a binary tree over the positions: an update costs O(log children), and the sum is a function of
    what the children are now, to the last bit, whatever they have been before. Running totals of floats would not be:
    undoing a placement would leave traces, and the order of queues would depend on what had been tried.
    """

    __slots__ = ("_half", "_is_open", "_least", "_open", "_rows", "_sums", "_zeros")

    def __init__(self, count: int, width: int) -> None:
        self._half = 1 << max(0, count - 1).bit_length()
        # Row 1 is the sum of all, row i that of rows 2i and 2i+1. Half of a row is as is, half per unit.
        self._sums = np.zeros((2 * self._half, 2 * width))
        self._rows = list(self._sums)
        self._least = [NOTHING] * (2 * self._half)
        self._is_open = [False] * count
        self._open = 0
        self._zeros = [0.0] * width

    def put(self, position: int, held: list[float], share: float, weight: float, *, saturated: bool) -> None:
        """What one child is now; `refresh` or `rebuild` must follow.

        Args:
            held: [R] what it holds.
        """
        at = self._half + position
        if share <= 0:
            self._rows[at].fill(0.0)
            self._least[at] = NOTHING
        elif saturated:
            self._rows[at][:] = held + self._zeros
            self._least[at] = NOTHING
        else:
            factor = weight / share
            self._rows[at][:] = self._zeros + [amount * factor for amount in held]
            self._least[at] = share / weight
        self._open += (not saturated) - self._is_open[position]
        self._is_open[position] = not saturated

    def put_all(self, rows: NDArray[np.float64], ratios: list[float], is_open: list[bool]) -> None:
        """The same for all children at once.

        Args:
            rows: [C, 2R] what counts as is, and per unit.
            ratios: [C] share over weight of those that are free and hold something, else NOTHING.
            is_open: [C] whether the child is not saturated.
        """
        self._sums[self._half : self._half + len(rows)] = rows
        self._least[self._half : self._half + len(ratios)] = ratios
        self._is_open = is_open
        self._open = sum(is_open)

    def refresh(self, position: int) -> None:
        """Mend what is above one child."""
        rows, least, at = self._rows, self._least, (self._half + position) >> 1
        while at:
            left = 2 * at
            np.add(rows[left], rows[left + 1], rows[at])
            least[at] = min(least[left], least[left + 1])
            at >>= 1

    def rebuild(self) -> None:
        """Mend everything."""
        first, least = self._half >> 1, self._least
        while first:
            below = self._sums[2 * first : 4 * first]
            np.add(below[::2], below[1::2], self._sums[first : 2 * first])
            least[first : 2 * first] = map(min, least[2 * first : 4 * first : 2], least[2 * first + 1 : 4 * first : 2])
            first >>= 1

    @property
    def saturated(self) -> bool:
        """Whether all are; true of nobody."""
        return not self._open

    def together(self) -> list[float]:
        """[R] what they count for in their parent."""
        total: list[float] = self._rows[1].tolist()
        width, least = len(self._zeros), self._least[1]
        if least == NOTHING:
            return total[:width]
        return [as_is + unit * least for as_is, unit in zip(total[:width], total[width:], strict=True)]
