"""What the children of a node hold together, once those that can still grow are scaled down to the least of them."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

NOTHING: Final = math.inf
"""The ratio of a child that is saturated or holds nothing: it has no part in the least."""
# Rows that are summed at a time: numpy takes as long for sixteen as for two.
_FAN: Final = 16


class Siblings:
    """The children of one node, by position.

    A child that is blocked (saturated) counts as it is. A free one counts as if its share over its weight were that of
    the smallest free sibling, so what it holds is kept per unit of that ratio; who holds nothing counts as nothing.

    Sums are kept in a tree of blocks over the positions: an update costs O(log children), and the sum is a function of
    what the children are now, to the last bit, whatever they have been before. Running totals of floats would not be:
    undoing a placement would leave traces, and the order of queues would depend on what had been tried.
    """

    __slots__ = ("_blocks", "_is_open", "_least", "_open", "_rows", "_sums", "_zeros")

    def __init__(self, count: int, width: int) -> None:
        sizes = [max(1, count)]
        while sizes[-1] > 1 or len(sizes) == 1:
            sizes.append(-(-sizes[-1] // _FAN))
        # Level 0 has a row for each child, the last one row: the sum of all. Half of a row is as is, half per unit.
        self._sums = [np.zeros((size, 2 * width)) for size in sizes]
        self._rows = [list(sums) for sums in self._sums]
        self._blocks = [[sums[first : first + _FAN] for first in range(0, len(sums), _FAN)] for sums in self._sums[:-1]]
        self._least = [[NOTHING] * size for size in sizes]
        self._is_open = [False] * count
        self._open = 0
        self._zeros = [0.0] * width

    def put(self, position: int, held: list[float], share: float, weight: float, *, saturated: bool) -> None:
        """What one child is now; `refresh` or `rebuild` must follow.

        Args:
            held: [R] what it holds.
        """
        rows, least = self._rows[0], self._least[0]
        if share <= 0:
            rows[position].fill(0.0)
            least[position] = NOTHING
        elif saturated:
            rows[position][:] = held + self._zeros
            least[position] = NOTHING
        else:
            factor = weight / share
            rows[position][:] = self._zeros + [amount * factor for amount in held]
            least[position] = share / weight
        self._open += (not saturated) - self._is_open[position]
        self._is_open[position] = not saturated

    def put_all(self, rows: NDArray[np.float64], ratios: list[float], is_open: list[bool]) -> None:
        """The same for all children at once.

        Args:
            rows: [C, 2R] what counts as is, and per unit.
            ratios: [C] share over weight of those that are free and hold something, else NOTHING.
            is_open: [C] whether the child is not saturated.
        """
        self._sums[0][:] = rows
        self._least[0] = ratios
        self._is_open = is_open
        self._open = sum(is_open)

    def refresh(self, position: int) -> None:
        """Mend what is above one child."""
        for level in range(len(self._blocks)):
            position //= _FAN
            self._sum_up(level, position)

    def rebuild(self) -> None:
        """Mend everything."""
        for level, blocks in enumerate(self._blocks):
            for number in range(len(blocks)):
                self._sum_up(level, number)

    def _sum_up(self, level: int, number: int) -> None:
        np.add.reduce(self._blocks[level][number], axis=0, out=self._rows[level + 1][number])
        first = number * _FAN
        self._least[level + 1][number] = min(self._least[level][first : first + _FAN])

    @property
    def saturated(self) -> bool:
        """Whether all are; true of nobody."""
        return not self._open

    def together(self) -> list[float]:
        """[R] what they count for in their parent."""
        total: list[float] = self._rows[-1][0].tolist()
        width, least = len(self._zeros), self._least[-1][0]
        if least == NOTHING:
            return total[:width]
        return [as_is + unit * least for as_is, unit in zip(total[:width], total[width:], strict=True)]
