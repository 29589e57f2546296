"""Rows of objects as lines: as wide as their names are, one below the other, for eyes and for grep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from rich.console import Console
from rich.text import Text

Cells = Sequence[str | Text]

_GAP: Final = "  "
_PHASE_STYLES: Final[Mapping[str, str]] = {
    "Running": "green",
    "Open": "green",
    "Completed": "dim",
    "Succeeded": "dim",
    "Succeed": "dim",
    "Deleted": "dim",
    "Pending": "yellow",
    "Inqueue": "yellow",
    "Closing": "yellow",
    "Restarting": "yellow",
    "Aborting": "yellow",
    "Terminating": "yellow",
    "Aborted": "red",
    "Terminated": "red",
    "Failed": "red",
    "Closed": "red",
    "Unknown": "red",
    "Unreadable": "red",
}


class Listing:
    """A table that can go on, row by row, with the columns where they are."""

    def __init__(self, console: Console, header: Sequence[str], numbers: Iterable[str] = ()) -> None:
        """`numbers`: the columns that are aligned to the right."""
        self._console, self._header, self._numbers = console, tuple(header), frozenset(numbers)
        self._widths = [len(name) for name in header]
        self._begun = False

    def print(self, rows: Iterable[Cells], *, indent: int = 0) -> None:
        """The rows; the header above the first ones."""
        cells = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
        for row in cells:
            self._widths = [max(width, cell.cell_len) for width, cell in zip(self._widths, row, strict=True)]
        if not self._begun:
            self._print([Text(name, "bold") for name in self._header], indent)
        self._begun = True
        for row in cells:
            self._print(row, indent)

    def _print(self, cells: Sequence[Text], indent: int) -> None:
        """A line without blanks at its end, which on a narrow terminal would be lines of their own."""
        line = Text(" " * indent)
        for number, (name, cell, width) in enumerate(zip(self._header, cells, self._widths, strict=True)):
            blanks = " " * (width - cell.cell_len)
            line.append(_GAP if number else "")
            line.append(Text(blanks).append(cell) if name in self._numbers else cell.copy().append(blanks))
        line.rstrip()
        self._console.print(line, soft_wrap=True)


def phase_text(phase: str) -> Text:
    """A phase or state in its colour."""
    return Text(phase or "-", style=_PHASE_STYLES.get(phase, ""))


def age_text(age: timedelta | None) -> str:
    """`45s`, `12m`, `5h`, `3d`; `-` when unknown."""
    if age is None:
        return "-"
    seconds = max(0, int(age.total_seconds()))
    for size, unit, up_to in ((1, "s", 120), (60, "m", 7200), (3600, "h", 172_800)):
        if seconds < up_to:
            return f"{seconds // size}{unit}"
    return f"{seconds // 86_400}d"
