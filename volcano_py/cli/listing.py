"""Rows of objects as lines: as wide as their names are, one below the other, for eyes and for grep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

Cells = Sequence[str | Text]

_NO_LIMIT: Final = 10_000  # characters; a name that is cut cannot be copied
_PHASE_STYLES: Final[Mapping[str, str]] = {
    "Running": "green",
    "Open": "green",
    "Completed": "dim",
    "Succeeded": "dim",
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
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=not self._begun)
        for name, width in zip(self._header, self._widths, strict=True):
            table.add_column(name, min_width=width, no_wrap=True, justify="right" if name in self._numbers else "left")
        for row in cells:
            table.add_row(*row)
        self._begun = True
        self._console.print(
            Padding(table, (0, 0, 0, indent), expand=False),
            width=_NO_LIMIT,
            crop=False,
            no_wrap=True,
            overflow="ignore",
        )


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
