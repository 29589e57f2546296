"""Two ways of showing a cluster that changes: a screen that is redrawn, or a line for each change."""

from __future__ import annotations

import os
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console
from rich.live import Live

from volcano_py.cli.live.lines import changes
from volcano_py.cli.live.overview import Overview
from volcano_py.cli.live.screen import Head, screen
from volcano_py.cli.live.tables import sections
from volcano_py.cli.printing.one_line import plain
from volcano_py.cli.printing.output import drawable

_WIDTH_OF_FILES = 120
_MOST_ROWS = 50
"""Of each table that is printed at the end."""


class Display(Protocol):
    """Shows overviews during its block, and leaves the last one on the screen at its end."""

    def show(self, seen: Overview, log_line: str) -> None:
        """The cluster, and the last line of the scheduler's log, as of now."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


def output() -> Console:
    """For people: as wide as the terminal, wide enough for tables elsewhere."""
    out = Console(file=drawable(), highlight=False)
    if not out.is_terminal and "COLUMNS" not in os.environ:
        out.width = _WIDTH_OF_FILES
    return out


def display(out: Console, head: Head) -> Display:
    """The way that suits the console. The `head` stays in sight."""
    return Screen(out, head) if out.is_terminal else Lines(out, head)


class Screen:
    """The terminal's other screen, so that what was there before comes back at the end."""

    def __init__(self, out: Console, head: Head) -> None:
        self._out = out
        self._head = head
        self._live = Live(console=out, screen=True, auto_refresh=False)
        self._shown: tuple[Any, ...] = ()
        self._last = Overview()

    def show(self, seen: Overview, log_line: str) -> None:
        """Redraw when something is different, the size of the terminal included."""
        self._last = seen
        now = (seen, log_line, self._out.size)
        if now != self._shown:
            self._shown = now
            self._live.update(screen(self._head, seen, [plain(log_line)], self._out), refresh=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()
        _print_tables(self._out, self._last)


class Lines:
    """Plain lines with the time of day; nothing is ever taken back."""

    def __init__(self, out: Console, head: Head) -> None:
        self._out = out
        self._head = head
        self._last = Overview()

    def show(self, seen: Overview, log_line: str) -> None:  # noqa: ARG002 - a log of its own, not to be mixed in
        """A line for each change since the last time."""
        for line in changes(self._last, seen):
            say(self._out, f"{datetime.now().astimezone():%H:%M:%S}  {line}")
        self._last = seen

    def __enter__(self) -> Self:
        for line in (*self._head.lines, ""):
            say(self._out, line)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _print_tables(self._out, self._last)


def say(out: Console, line: str) -> None:
    """One line as it is, however long."""
    out.print(line, markup=False, soft_wrap=True)


def _print_tables(out: Console, seen: Overview) -> None:
    for section in sections(seen, out.width):
        out.print(section.make(_MOST_ROWS))
        out.print()
