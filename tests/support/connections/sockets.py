"""The end of connections."""

from __future__ import annotations

import asyncio
from typing import Any


async def until_closed() -> None:
    """Nothing is left of the event loop's connections.

    One of TLS ends only when the other side's end has come. Where the loop ends before, the garbage collector finds
    the socket, and its warning fails whatever test runs by then.
    """
    loop: Any = asyncio.get_running_loop()
    async with asyncio.timeout(60):
        while any(transport._sock is not None for transport in loop._transports.values()):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
