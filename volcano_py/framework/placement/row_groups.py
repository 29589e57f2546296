"""Group numbers for rows: two rows are in one group when they have the same values in all of several columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.state.table.table import Rows

Numbers = NDArray[np.intp]
Column = NDArray[np.integer] | NDArray[np.bool_]
"""Numbers from 0."""

# Numbers up to this many times the number of rows are compacted by marks, larger ones by sorting.
_FEW_TIMES: Final = 4


def group_rows(columns: Sequence[Column]) -> tuple[Numbers, Rows]:
    """[N] the group of each row, and [G] the first row of each group. Groups are numbered in the order of their values,
    the first column before the second."""
    codes = columns[0].astype(np.intp)
    for column in columns[1:]:
        width = int(column.max(initial=0)) + 1
        if width == 1:
            continue
        if int(codes.max(initial=0)) * width > _FEW_TIMES * len(codes):
            codes, _ = compact(codes)
        codes = codes * width + column
    return compact(codes)


def compact(codes: Numbers) -> tuple[Numbers, Rows]:
    """[N] `codes` replaced by numbers from 0 without gaps, in the same order, and [G] the first row of each number."""
    highest = int(codes.max(initial=0))
    if highest > _FEW_TIMES * len(codes):
        _, first, numbers = np.unique(codes, return_index=True, return_inverse=True)
        return numbers.astype(np.intp), first
    first_of = np.full(highest + 1, -1, dtype=np.intp)
    first_of[codes[::-1]] = np.arange(len(codes))[::-1]  # the last assignment wins: that of the first row
    used = first_of >= 0
    places = np.cumsum(used) - 1
    return places[codes], first_of[used]


class RowGroups:
    """The numbers of groups by their values; a new combination of values becomes the next group.

    Attributes:
        columns: for each column, [G] the value of each group.
    """

    def __init__(self, columns: Sequence[NDArray[np.integer]]) -> None:
        """No two rows may have the same values in all columns."""
        self.columns: list[NDArray[np.int64]] = [column.astype(np.int64) for column in columns]
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self._number_of: dict[tuple[int, ...], int] = {row: number for number, row in enumerate(rows)}

    def __len__(self) -> int:
        return len(self._number_of)

    def number(self, *values: int) -> int:
        """The group with these values, the next number if it is new."""
        number = self._number_of.setdefault(values, len(self))
        if number == len(self.columns[0]):
            self.columns = [np.append(column, value) for column, value in zip(self.columns, values, strict=True)]
        return number
