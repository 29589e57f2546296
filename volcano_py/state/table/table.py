"""Growable columnar tables: numpy columns of equal length with row reuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any, ClassVar, Self

import msgspec
import numpy as np
from numpy.typing import DTypeLike, NDArray

Rows = NDArray[np.intp]
"""Rows of one table."""
NOWHERE = -1
"""In a column that names a row of another table: none."""
_FIRST_CAPACITY = 64


class Column(msgspec.Struct, frozen=True):
    """One column: `width` 0 is a vector, a positive number a fixed second dimension, RESOURCES the resource axis."""

    dtype: DTypeLike
    fill: int | float | bool = 0
    width: int = 0


RESOURCES = -1


Columns = Callable[["Table"], tuple[NDArray[Any], ...]]
"""Several columns of a table, as an `attrgetter` of their names gives them."""


class Table:
    """Columns are attributes named as in `columns`. Rows below `size` may be free; subclasses know which.

    `copy()` gives an independent table trimmed to `size`; it costs one memcpy per column. `for_cycle()` costs less.
    """

    columns: ClassVar[dict[str, Column]] = {}
    decided: ClassVar[frozenset[str]] = frozenset()
    """Columns that a cycle may change, for tables of which `for_cycle` is used."""

    def __init__(self, resources: int) -> None:
        self.size = 0
        self.resources = resources
        self._free: list[int] = []
        self._capacity = 0
        self._resize(_FIRST_CAPACITY)

    def new_row(self) -> int:
        """A row with every column at its fill value."""
        if self._free:
            row = self._free.pop()
        else:
            if self.size == self._capacity:
                self._resize(self._capacity * 2)
            row = self.size
            self.size += 1
        return row

    def reach(self, size: int) -> None:
        """Grow to at least this many rows; for tables whose rows are numbered elsewhere."""
        while self._capacity < size:
            self._resize(self._capacity * 2)
        self.size = max(self.size, size)

    def put(self, rows: Sequence[int], columns: Columns, values: Sequence[tuple[Any, ...]]) -> None:
        """Write these columns of these rows. `values`: of each row one for each column."""
        arrays = columns(self)
        if len(rows) == 1:  # (numbers are written faster than arrays)
            row = rows[0]
            for array, value in zip(arrays, values[0], strict=True):
                array[row] = value
        else:
            where = np.array(rows)
            for array, column in zip(arrays, zip(*values, strict=True), strict=True):
                array[where] = column

    def free_row(self, row: int) -> None:
        """Give a row back; its columns return to their fill values."""
        self.clear(row)
        self._free.append(row)

    def clear(self, row: int, keep: frozenset[str] = frozenset()) -> None:
        """All columns but those to `keep` return to their fill values."""
        for name, column in self.columns.items():
            if name not in keep:
                getattr(self, name)[row] = column.fill

    def widen(self, resources: int) -> None:
        """Follow the resource axis after it has grown."""
        self.resources = resources
        self._resize(self._capacity)

    def for_cycle(self) -> Self:
        """A copy of what a cycle may change. It shares all other columns with this table, which must not change while
        the copy is in use; writing to them in the copy fails."""
        return self._cloned(shared=self.columns.keys() - self.decided)

    def copy(self) -> Self:
        """An independent table."""
        return self._cloned(shared=frozenset())

    def _cloned(self, shared: Set[str]) -> Self:
        clone = self.__class__.__new__(self.__class__)
        clone.size = self.size
        clone.resources = self.resources
        clone._free = []
        clone._capacity = self.size
        for name in self.columns:
            column = getattr(self, name)[: self.size]
            if name in shared:
                column.setflags(write=False)  # (of this view alone)
            setattr(clone, name, column if name in shared else column.copy())
        return clone

    def _resize(self, capacity: int) -> None:
        for name, column in self.columns.items():
            width = self.resources if column.width == RESOURCES else column.width
            shape: Any = (capacity, width) if width else capacity
            array = np.full(shape, column.fill, dtype=column.dtype)
            old = getattr(self, name, None)
            if old is not None:
                if width:
                    array[: self.size, : old.shape[1]] = old[: self.size]
                else:
                    array[: self.size] = old[: self.size]
            setattr(self, name, array)
        self._capacity = capacity
