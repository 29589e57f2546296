"""Says what a long first start is doing: a spinner with the elapsed time on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as RichProgress
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

_PLAIN_INTERVAL_SECONDS = 30.0
"""CI systems kill jobs that say nothing for minutes."""


class Progress:
    """Reports steps to a console; standard error by default, so that output meant for programs stays clean."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console if console is not None else Console(stderr=True)

    def note(self, message: str) -> None:
        """One line, printed as it is."""
        self._console.print(message, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def step(self, message: str, expected_seconds: int) -> Iterator[None]:
        """Show `message` and the elapsed time while the block runs, and before it how long it should take."""
        started = time.monotonic()
        announced = f"{message}, about {_duration(expected_seconds)}"
        shown = self._spinner(announced) if self._console.is_terminal else self._lines(announced, message, started)
        with shown:
            yield
        self.note(f"{message}: done in {_duration(time.monotonic() - started)}")

    @contextmanager
    def _spinner(self, announced: str) -> Iterator[None]:
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        with RichProgress(*columns, console=self._console, transient=True) as display:
            display.add_task(announced, total=None)
            yield

    @contextmanager
    def _lines(self, announced: str, message: str, started: float) -> Iterator[None]:
        self.note(announced)
        finished = threading.Event()

        def report() -> None:
            while not finished.wait(_PLAIN_INTERVAL_SECONDS):
                self.note(f"{message}: {_duration(time.monotonic() - started)} so far")

        reporter = threading.Thread(target=report, name="progress", daemon=True)
        reporter.start()
        try:
            yield
        finally:
            finished.set()
            reporter.join()


def _duration(seconds: float) -> str:
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60} s"
