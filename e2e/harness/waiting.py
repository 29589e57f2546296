"""Waiting for something to become true, and saying what was true instead when it did not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

_T = TypeVar("_T")

_POLL_SECONDS = 0.1


async def eventually(
    what: str,
    check: Callable[[], Awaitable[_T]],
    *,
    seconds: float,
    diagnose: Callable[[], Awaitable[str]] | None = None,
) -> _T:
    """Call `check` until it returns without an AssertionError, and return what it returns.

    After `seconds` the test fails: with `what` was waited for, the last assertion, and what `diagnose` finds out then
    (the end of the daemon's log, for one).
    """
    __tracebackhide__ = True
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        try:
            return await check()
        except AssertionError as error:
            if loop.time() < deadline:
                await asyncio.sleep(_POLL_SECONDS)
                continue
            found = await diagnose() if diagnose is not None else ""
            raise AssertionError(f"after {seconds:.0f} s still not: {what}\nlast seen: {error}\n{found}") from None


async def throughout(what: str, check: Callable[[], Awaitable[object]], *, seconds: float) -> None:
    """Call `check` again and again for `seconds`; it must never raise. For what must *not* happen."""
    __tracebackhide__ = True
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while loop.time() < deadline:
        try:
            await check()
        except AssertionError as error:
            raise AssertionError(f"it did not stay so: {what}\nseen: {error}") from None
        await asyncio.sleep(_POLL_SECONDS)
