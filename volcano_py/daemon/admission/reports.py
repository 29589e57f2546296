"""What the admission process reports to the daemon that has started it: lines of JSON on a socket between the two.

Reports are also the proof that the process is alive; and when the daemon's end of the socket closes, it ends.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final

import msgspec

EVERY: Final = 0.5
"""Seconds between two reports."""
_MOST_REVIEWS: Final = 10_000  # of a report; more are not counted
LONGEST_LINE: Final = 4 * 2**20
"""Bytes of a report: each review takes about a hundred."""


class Report(msgspec.Struct, frozen=True):
    """What has happened since the last report, and the current state."""

    problem: str | None = None
    """Why reviews cannot be answered now."""
    expires: float = 0.0
    """When the certificate does, in seconds since 1970; 0 while there is none."""
    reviews: list[tuple[str, str, str, float]] = []
    """Webhook, operation, outcome and seconds of each."""
    turned_away: dict[str, int] = {}
    """Status of the answer → number of callers."""


class Reporter:
    """Collects, and writes a report now and then. `problem` is asked each time."""

    def __init__(self, problem: Callable[[], str | None]) -> None:
        self._problem = problem
        self._expires = 0.0
        self._reviews: list[tuple[str, str, str, float]] = []
        self._turned_away: Counter[str] = Counter()

    def reviewed(self, webhook: str, operation: str, outcome: str, seconds: float) -> None:
        """A review was answered."""
        if len(self._reviews) < _MOST_REVIEWS:
            self._reviews.append((webhook, operation, str(outcome), seconds))

    def turned_away(self, status: int) -> None:
        """A caller got an error, or 0: no answer at all."""
        self._turned_away[str(status)] += 1

    def certificate_expires(self, when: float) -> None:
        """`when` in seconds since 1970."""
        self._expires = when

    def report(self) -> Report:
        """What there is to say, once."""
        made = Report(self._problem(), self._expires, self._reviews, dict(self._turned_away))
        self._reviews = []
        self._turned_away.clear()
        return made

    async def run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until the other end is closed."""
        closed = asyncio.ensure_future(reader.read(1))
        try:
            while not closed.done():
                writer.write(msgspec.json.encode(self.report()) + b"\n")
                await writer.drain()
                await asyncio.wait((closed,), timeout=EVERY)
        except ConnectionError:
            pass
        finally:
            closed.cancel()
            writer.close()
