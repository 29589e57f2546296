"""Time as a parameter, so that code that waits can be tested without waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """A source of time; durations are in seconds."""

    def monotonic(self) -> float:
        """For durations: does not jump when the machine's clock is set."""

    def now(self) -> datetime:
        """For what is shown to people: wall-clock time in UTC."""

    async def sleep(self, seconds: float) -> None:
        """Return after that long; at the next turn of the loop for 0."""


class SystemClock:
    """The machine's time."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


SYSTEM_CLOCK: Clock = SystemClock()


def rfc3339(moment: datetime, *, micro: bool = False) -> str:
    """As the API writes times: `2026-11-21T09:30:00Z`, with `micro` (MicroTime) `2026-11-21T09:30:00.000000Z`."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is cancelled when it takes longer than that.

    Raises:
        TimeoutError: the time was over first.
    """
    worker = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait((worker, timer), return_when=asyncio.FIRST_COMPLETED)
        if not worker.done():
            raise TimeoutError(f"nothing came within {seconds:g} s")
        return worker.result()
    finally:
        timer.cancel()
        worker.cancel()


async def wait_at_most(clock: Clock, seconds: float, *events: asyncio.Event) -> None:
    """Return when one of the events is set, or after this many seconds."""
    waiting = [asyncio.ensure_future(clock.sleep(seconds)), *(asyncio.ensure_future(each.wait()) for each in events)]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
