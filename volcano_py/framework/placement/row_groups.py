"""Numbers for what is alike: rows that have the same in all of several columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.state.table.ledger import Rows

Numbers = NDArray[np.intp]
Column = NDArray[np.integer] | NDArray[np.bool_]
"""Numbers from 0."""

# Numbers up to so many times that of their holders are made dense by marks, larger ones by sorting.
_FEW_TIMES: Final = 4


def alike(columns: Sequence[Column]) -> tuple[Numbers, Rows]:
    """[N] a number for each row, the same where all columns are, and [G] the first row of each number. Numbers are in
    the order of the columns, the first one before the second."""
    codes = columns[0].astype(np.intp)
    for column in columns[1:]:
        width = int(column.max(initial=0)) + 1
        if width == 1:
            continue
        if int(codes.max(initial=0)) * width > _FEW_TIMES * len(codes):
            codes, _ = dense(codes)
        codes = codes * width + column
    return dense(codes)


def dense(codes: Numbers) -> tuple[Numbers, Rows]:
    """Numbers [N] without gaps in their place, in the same order, and [G] the first that has each of them."""
    highest = int(codes.max(initial=0))
    if highest > _FEW_TIMES * len(codes):
        _, first, numbers = np.unique(codes, return_index=True, return_inverse=True)
        return numbers.astype(np.intp), first
    first_of = np.full(highest + 1, -1, dtype=np.intp)
    first_of[codes[::-1]] = np.arange(len(codes))[::-1]  # of several the last assignment holds, which is the first row
    used = first_of >= 0
    places = np.cumsum(used) - 1
    return places[codes], first_of[used]


class Combinations:
    """Numbers for combinations of values, of which more come to be when they are asked for.

    Attributes:
        columns: of each value [G] that of each combination.
    """

    def __init__(self, columns: Sequence[NDArray[np.integer]]) -> None:
        """No two rows are alike in all columns."""
        self.columns: list[NDArray[np.int64]] = [column.astype(np.int64) for column in columns]
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self._number_of: dict[tuple[int, ...], int] = {row: number for number, row in enumerate(rows)}

    def __len__(self) -> int:
        return len(self._number_of)

    def number(self, *values: int) -> int:
        """That of these values; the next one if they have not been combined before."""
        number = self._number_of.setdefault(values, len(self))
        if number == len(self.columns[0]):
            self.columns = [np.append(column, value) for column, value in zip(self.columns, values, strict=True)]
        return number
