"""Keeps a daemon running as a kubelet would: starts it again whenever it ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

from e2e.harness.daemon import Daemon

LEASE_LOST = "lease lost"
KILLED = "kill -9"

_RESTART_AFTER = 0.5  # seconds


class Keeper:
    """An async context manager around a daemon that has been started; `ends` counts how it ended, by reason."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.ends: Counter[str] = Counter()
        self._starting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._keep(), name=f"keeper of {self.daemon.name}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def crash(self) -> None:
        """kill -9, and a new start a moment later."""
        await self.daemon.kill()
        self.ends[KILLED] += 1
        await self._start_again()

    async def _keep(self) -> None:
        while True:
            await self.daemon.process.wait_unexpected_end()
            self.ends[self._why()] += 1
            await self._start_again()

    async def _start_again(self) -> None:
        """Once: it may have ended by itself a moment before it was killed."""
        await asyncio.sleep(_RESTART_AFTER)
        async with self._starting:
            if not self.daemon.process.running:
                await self.daemon.process.start()

    def _why(self) -> str:
        """What its last words say: only a lost lease is a reason to end."""
        tail = self.daemon.process.log_tail(40)
        if "daemon failed" in tail and "the Lease was not renewed in time" in tail.rpartition("daemon failed")[2]:
            return LEASE_LOST
        return f"exit code {self.daemon.process.exit_code}: {tail[-2000:]}"


async def in_background(stack: AsyncExitStack, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Run this until the stack unwinds, and raise then what it has raised."""
    task = asyncio.create_task(work)

    async def end() -> None:
        task.cancel()
        ended = await asyncio.gather(task, return_exceptions=True)
        if isinstance(ended[0], Exception):
            raise ended[0]

    stack.push_async_callback(end)
    return task
