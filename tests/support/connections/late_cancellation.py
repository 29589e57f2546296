"""A request that is cancelled in the same turn of the event loop in which its time limit ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest


@asynccontextmanager
async def silent_server() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A server that never answers: its address, and an event that is set when a request has arrived."""
    asked, over = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        asked.set()
        await over.wait()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
        over.set()


async def cancel_as_time_ends(task: asyncio.Task[Any], seconds: float) -> None:
    """Cancel the task in the turn in which its limit of `seconds` ends; return when the task has ended."""
    loop: Any = asyncio.get_running_loop()
    time = loop.time
    with pytest.MonkeyPatch.context() as patch:
        # aiohttp rounds a long limit up to a whole second.
        patch.setattr(loop, "time", lambda: time() + seconds + 2)
        loop.call_soon(task.cancel)
        await asyncio.wait({task})
