"""A controller at work in a test, until everything it has to do is done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Generic, Protocol, TypeVar


class Controller(Protocol):
    async def run(self) -> None: ...

    async def idle(self) -> None: ...


C = TypeVar("C", bound=Controller)


class Controlled(Generic[C]):
    """What a test knows of a cluster, with the `controller` that looks after it."""

    controller: C

    @asynccontextmanager
    async def running(self) -> AsyncIterator[C]:
        """The controller while it works."""
        task = asyncio.create_task(self.controller.run())
        await asyncio.sleep(0)
        try:
            yield self.controller
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def settle(self) -> None:
        """Let it work until nothing is left to do."""
        async with self.running() as controller:
            await controller.idle()
