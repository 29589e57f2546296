"""Waiting for something to become true, and saying what was true instead when it did not.

The one idiom of these tests: whatever another process writes is looked at by an async check of plain asserts, and
`eventually` repeats the check until it passes. What must *not* happen is looked at once something has been seen that
comes after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import aiohttp

from volcano_py.local.client import APIError
from volcano_py.local.kubectl import KubectlError

_T = TypeVar("_T")

WAIT_SECONDS = 120.0
"""The limit of a wait that names none. The longest take 20 s on a quiet machine (a dead leader's Lease runs out), and a
shared one may be five times slower. Only a test that fails waits for so long."""

COLLECTED_SECONDS = 30 + WAIT_SECONDS
"""For what the garbage collector deletes: that of a new cluster takes half a minute to learn of our kinds."""

_POLL_SECONDS = 0.1

_NOT_YET = (AssertionError, LookupError, TypeError, ValueError, APIError, KubectlError, aiohttp.ClientError, OSError)
"""What a check raises that looks too early: besides its asserts, a field or an object that is not there or null, text
that is not complete, a process that does not answer. Anything else ends the wait at once."""


async def eventually(
    what: str,
    check: Callable[[], Awaitable[_T]],
    *,
    seconds: float = WAIT_SECONDS,
    diagnose: Callable[[], Awaitable[str]] | None = None,
) -> _T:
    """Call `check` until it returns, and return what it returns; what it raises meanwhile means: not yet.

    After `seconds` the test fails: with `what` was waited for, the last failure, and what `diagnose` finds out then
    (the end of the daemon's log, for one).
    """
    __tracebackhide__ = True
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        try:
            return await check()
        except _NOT_YET as error:
            if loop.time() < deadline:
                await asyncio.sleep(_POLL_SECONDS)
                continue
            found = await diagnose() if diagnose is not None else ""
            seen = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            raise AssertionError(f"after {seconds:.0f} s still not: {what}\nlast seen: {seen}\n{found}") from None
