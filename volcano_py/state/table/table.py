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

    Columns are read-only: what writes to rows asks for them with `change`, so that the table knows which rows have been
    written since each copy. A copy that is no longer used becomes the next one for the price of those rows.
    """

    columns: ClassVar[dict[str, Column]] = {}
    shared: ClassVar[frozenset[str]] = frozenset()
    """Columns that a cycle never writes; a table of `for_cycle` has them in common with the one it was made from."""

    def __init__(self, resources: int) -> None:
        self.size = 0
        self.resources = resources
        self._free: list[int] = []
        self._capacity = 0
        self._source: Self | None = None
        self._start()
        self._resize(_FIRST_CAPACITY)

    def _start(self: Self) -> None:
        """Begin without columns, and as if no copy had been made."""
        self._writable = self._bare()
        self._moment = 1
        """It passes with each copy of this table, and whenever this one is brought up to date."""
        self._written = np.zeros(0, dtype=np.int32)
        """By row, the moment at which it was last written."""
        self._seen = self._clean = 0
        """Of a copy: its source's moment that it shows, and its own moment since which it may differ from that."""

    # -- rows ------------------------------------------------------------------------------------------------------

    def change(self, rows: NDArray[np.integer[Any]] | Sequence[int] | int | slice) -> Self:
        """The columns to write to in these rows, and in no others."""
        self._written[rows] = self._moment
        return self._writable

    def new_row(self) -> int:
        """A row with every column at its fill value."""
        if self._free:
            return self._free.pop()
        row = self.size
        if row == self._capacity:
            self._resize(self._capacity * 2)
        self.size += 1
        if self._source is not None:
            self.clear(row)
            self._show()
        return row

    def reach(self, size: int) -> None:
        """Grow to at least this many rows; for tables whose rows are numbered elsewhere."""
        while self._capacity < size:
            self._resize(self._capacity * 2)
        self.size = max(self.size, size)

    def put(self, rows: Sequence[int], columns: Columns, values: Sequence[tuple[Any, ...]]) -> None:
        """Write these columns of these rows. `values`: of each row one for each column."""
        if len(rows) == 1:  # (numbers are written faster than arrays)
            row = rows[0]
            for array, value in zip(columns(self.change(row)), values[0], strict=True):
                array[row] = value
        else:
            where = np.array(rows)
            for array, column in zip(columns(self.change(where)), zip(*values, strict=True), strict=True):
                array[where] = column

    def free_row(self, row: int) -> None:
        """Give a row back; its columns return to their fill values."""
        self.clear(row)
        self._free.append(row)

    def clear(self, row: int, keep: frozenset[str] = frozenset()) -> None:
        """All columns but those to `keep` return to their fill values."""
        arrays = self.change(row)
        for name, column in self.columns.items():
            if name not in keep:
                getattr(arrays, name)[row] = column.fill

    def widen(self, resources: int) -> None:
        """Follow the resource axis after it has grown."""
        self.resources = resources
        self._resize(self._capacity)

    # -- copies ----------------------------------------------------------------------------------------------------

    def copy(self, former: Self | None = None) -> Self:
        """An independent table. `former` is an earlier copy of this one that nobody uses any more: if it is still as
        large as this table may grow, only the rows that were written since, here or there, are copied into it."""
        return self._copied(former, frozenset())

    def for_cycle(self, former: Self | None = None) -> Self:
        """The same for a cycle. It has the `shared` columns in common with this table, which must not change while the
        copy is in use."""
        return self._copied(former, self.shared)

    def _copied(self, former: Self | None, shared: Set[str]) -> Self:
        if former is None or not former._can_become(self):
            former = self._blank_copy(shared)
        former._become(self, shared)
        self._moment += 1
        return former

    def _can_become(self, source: Self) -> bool:
        is_as_large = (self._capacity, self.resources) == (source._capacity, source.resources)
        return self._source is source and is_as_large

    def _blank_copy(self, shared: Set[str]) -> Self:
        """A copy without rows."""
        blank = self._bare()
        blank.size, blank.resources, blank._capacity = 0, self.resources, self._capacity
        blank._free, blank._source = [], self
        blank._start()
        blank._written = np.zeros(self._capacity, dtype=np.int32)
        for name in self.columns.keys() - shared:
            setattr(blank._writable, name, np.empty_like(getattr(self._writable, name)))
        return blank

    def _become(self, source: Self, shared: Set[str]) -> None:
        """Equal the source again."""
        common = min(self.size, source.size)
        differs = (source._written[:common] > self._seen) | (self._written[:common] > self._clean)
        stale = np.concatenate((np.flatnonzero(differs), np.arange(common, source.size)))
        # (without rows before there is no copy of this one yet that must know, and all at once is faster)
        rows = stale if common else slice(source.size)
        arrays = self.change(stale) if common else self._writable
        for name in self.columns:
            if name in shared:
                setattr(arrays, name, getattr(source, name))
            else:
                getattr(arrays, name)[rows] = getattr(source, name)[rows]
        self.size, self._free = source.size, []
        self._show()
        self._seen, self._clean = source._moment, self._moment
        self._moment += 1

    def _bare(self) -> Self:
        return self.__class__.__new__(self.__class__)

    # -- arrays ----------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        """Let the columns be read: of a copy as many rows as there are, so that they are the same in each."""
        end = self._capacity if self._source is None else self.size
        for name in self.columns:
            column = getattr(self._writable, name)[:end]
            column.setflags(write=False)  # (of this view alone)
            setattr(self, name, column)

    def _resize(self, capacity: int) -> None:
        arrays = self._writable
        for name, column in self.columns.items():
            width = self.resources if column.width == RESOURCES else column.width
            shape: Any = (capacity, width) if width else capacity
            array = np.full(shape, column.fill, dtype=column.dtype)
            old = getattr(arrays, name, None)
            if old is not None:
                if width:
                    array[: self.size, : old.shape[1]] = old[: self.size]
                else:
                    array[: self.size] = old[: self.size]
            setattr(arrays, name, array)
        written = np.full(capacity, self._moment, dtype=np.int32)
        written[: self.size] = self._written[: self.size]
        self._written, self._capacity = written, capacity
        self._show()
