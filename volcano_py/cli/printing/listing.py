"""Rows of objects as aligned lines, readable for people and for grep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from rich.console import Console
from rich.text import Text

Cells = Sequence[str | Text]

_GAP: Final = "  "
_NOTHING: Final = "-"
_LEAST_FLOW: Final = 50  # characters; a sentence in a narrower column is a tower, and stands below its row instead
_HANGING: Final = 4  # blanks before it there
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
    """A table to which rows can be added; the columns keep their widths."""

    def __init__(
        self,
        console: Console,
        header: Sequence[str],
        numbers: Iterable[str] = (),
        *,
        spare: Sequence[str] = (),
        flows: bool = False,
    ) -> None:
        """`numbers`: the columns that are aligned to the right. `spare`: those that are left out, one after the other,
        on a terminal where a line would be too long with them. `flows`: on a terminal the last column, a sentence,
        goes on below itself; where there is no room for it, below its row."""
        self._console, self._header, self._numbers = console, tuple(header), frozenset(numbers)
        self._flows = flows and console.is_terminal
        self._spare, self._left_out = spare, frozenset[str]()
        self._widths = [len(name) for name in header]
        self._begun = False

    def print(self, rows: Iterable[Cells], *, indent: int = 0) -> None:
        """The rows; the header above the first ones."""
        cells = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
        for row in cells:
            self._widths = [max(width, cell.cell_len) for width, cell in zip(self._widths, row, strict=True)]
        if not self._begun:
            self._left_out = self._too_many(indent)
            self._print([Text(name, "bold") for name in self._header], indent)
        self._begun = True
        for row in cells:
            self._print(row, indent)

    def _too_many(self, indent: int) -> frozenset[str]:
        """The spare columns that have to go. The first rows decide it: columns that come and go cannot be read."""
        widths = dict(zip(self._header, self._widths, strict=True))
        if self._flows:
            widths[self._header[-1]] = len(self._header[-1])
        for name in self._spare if self._console.is_terminal else ():
            if indent + sum(widths.values()) + len(_GAP) * (len(widths) - 1) <= self._console.width:
                break
            del widths[name]
        return frozenset(self._header) - widths.keys()

    def _print(self, cells: Sequence[Text], indent: int) -> None:
        """A line without blanks at its end, which on a narrow terminal would be lines of their own."""
        line = Text(" " * indent)
        shown = [each for each in zip(self._header, cells, self._widths, strict=True) if each[0] not in self._left_out]
        flowing = shown.pop()[1] if self._flows else None
        for number, (name, cell, width) in enumerate(shown):
            blanks = " " * (width - cell.cell_len)
            line.append(_GAP if number else "")
            line.append(Text(blanks).append(cell) if name in self._numbers else cell.copy().append(blanks))
        for each in self._flowing(line, flowing) if flowing is not None else [line]:
            each.rstrip()
            self._console.print(each, soft_wrap=True)

    def _flowing(self, line: Text, last: Text) -> Sequence[Text]:
        """The line with its last column behind it, or below it where it does not fit."""
        room = self._console.width - line.cell_len - len(_GAP)
        if room >= min(_LEAST_FLOW, last.cell_len):
            first, *more = last.wrap(self._console, room) or [last]
            indent = " " * (line.cell_len + len(_GAP))
            return [line.append(_GAP).append(first), *(Text(indent).append(each) for each in more)]
        if last.plain == _NOTHING:
            return [line]
        room = max(self._console.width - _HANGING, 1)
        return [line, *(Text(" " * _HANGING).append(each) for each in last.wrap(self._console, room))]


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


def moment(seconds: float, timespec: str = "seconds") -> str:
    """Seconds since the epoch as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=timespec).replace("+00:00", "Z")
