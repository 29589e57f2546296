"""Steps of which one that fails does not keep the others from being done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable


async def together(steps: Iterable[Awaitable[None]]) -> None:
    """All of them, to their ends; then the error of the first that failed."""
    errors = [result for result in await asyncio.gather(*steps, return_exceptions=True) if result is not None]
    try:
        if errors:
            raise errors[0]
    finally:
        # Raised here, an error has this frame in its traceback: if the frame kept it, both would be garbage in a cycle,
        # and with them whatever was read of the server's answer.
        errors.clear()
