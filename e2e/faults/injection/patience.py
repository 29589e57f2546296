"""Administrator's calls that outlast an API server that is down or has just come up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import aiohttp

from volcano_py.local.client import APIError

_T = TypeVar("_T")

_GIVE_UP_AFTER = 150.0
"""Seconds; a restart of the API server takes five on an idle machine."""
_PAUSE = 0.2


async def patiently(call: Callable[[], Awaitable[_T]], *, fine: tuple[int, ...] = ()) -> _T | None:
    """The result of `call`, repeated while the server is away; None when it answers one of the statuses in `fine`.

    403 counts as away: a server that has just started serves before it knows its RBAC rules.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _GIVE_UP_AFTER
    while True:
        try:
            return await call()
        except APIError as error:
            if error.status in fine:
                return None
            if (error.status not in (403, 429) and error.status < 500) or loop.time() > deadline:
                raise
        except (aiohttp.ClientError, TimeoutError, OSError):
            if loop.time() > deadline:
                raise
        await asyncio.sleep(_PAUSE)
