"""Annotations and labels that cannot be read, of the objects in the rows of one table."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import msgspec

from volcano_py.api.annotations.reading import Unreadable


class UnreadableOfRow(msgspec.Struct, frozen=True):
    """What cannot be read of one object. `since`: the number of the change that brought it; they count from 1."""

    since: int
    values: tuple[Unreadable, ...]


Picture = MappingProxyType[int, UnreadableOfRow]
"""By row. The latest change comes last, so what is new since any of them is found without a look at the others."""

NOTHING_UNREADABLE: Final[Picture] = MappingProxyType({})


class UnreadableValues:
    """Follows the objects of one table."""

    def __init__(self) -> None:
        self._changes = 0
        self._by_row: dict[int, UnreadableOfRow] = {}
        self._picture: Picture | None = NOTHING_UNREADABLE

    def put(self, row: int, values: tuple[Unreadable, ...]) -> None:
        """These are all of the object in the row."""
        known = self._by_row.get(row)
        if values == (() if known is None else known.values):
            return
        self.take(row)
        if values:
            self._changes, self._picture = self._changes + 1, None
            self._by_row[row] = UnreadableOfRow(self._changes, values)

    def take(self, row: int) -> None:
        """The row has no object any more."""
        if self._by_row.pop(row, None) is not None:
            self._picture = None

    def picture(self) -> Picture:
        """As things stand; the same object until something changes."""
        if self._picture is None:
            self._picture = MappingProxyType(self._by_row.copy())
        return self._picture
