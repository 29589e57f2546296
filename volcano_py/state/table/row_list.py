"""Lists of what is known of each row, of which copies can be brought up to date."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


class RowList(list[T]):
    """A list that only grows, and of which items are written one by one: so it knows which have been written since its
    last copy."""

    def __init__(self) -> None:
        super().__init__()
        self._written: set[int] = set()
        self._last_copy: list[T] | None = None

    def __setitem__(self, row: int, item: T) -> None:  # type: ignore[override]
        super().__setitem__(row, item)
        self._written.add(row)

    def next_copy(self, former: list[T] | None) -> list[T]:
        """A plain list of the same items. `former` is an earlier one that nobody uses any more: if it is the last one,
        only the items that were written since are copied into it."""
        if former is None or former is not self._last_copy:
            former = self[:]
        else:
            for row in self._written:
                if row < len(former):
                    former[row] = self[row]
            former.extend(self[len(former) :])
        self._written.clear()
        self._last_copy = former
        return former

    def differs_in(self, rows: Iterable[int]) -> None:
        """The last copy was written to in these rows."""
        self._written.update(rows)
