"""Reviews take turns between namespaces, and only a limited number of bytes is checked at a time.

A namespace that sends many large objects only delays itself. One that sends a single object has the next turn.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

Waiting = tuple[int, "asyncio.Future[None]"]
_LEAST: Final = 64 * 2**10  # bytes that each review counts for at least, so that small ones are bounded in number


class ReviewTurns:
    """At most `size` bytes are checked at a time; a single review that is larger is checked alone."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._taken = 0
        self._lines: OrderedDict[str, deque[Waiting]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, namespace: str, size: int) -> AsyncIterator[None]:
        """Wait for a turn, and keep it for the block."""
        size = max(size, _LEAST)
        await self._wait(namespace, size)
        try:
            yield
        finally:
            self._taken -= size
            self._go_on()

    async def _wait(self, namespace: str, size: int) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lines.setdefault(namespace, deque()).append((size, future))
        self._go_on()
        try:
            await future
        except asyncio.CancelledError:
            if future.cancelled():
                self._forget(namespace, (size, future))
            else:  # the turn had just come
                self._taken -= size
            self._go_on()
            raise

    def _go_on(self) -> None:
        """Give turns away while there is room: one to each namespace, then again."""
        while self._lines:
            namespace, line = next(iter(self._lines.items()))
            size, future = line[0]
            if self._taken and self._taken + size > self._size:
                return
            self._forget(namespace, line[0])
            if namespace in self._lines:
                self._lines.move_to_end(namespace)
            if not future.cancelled():
                self._taken += size
                future.set_result(None)

    def _forget(self, namespace: str, waiting: Waiting) -> None:
        line = self._lines.get(namespace)
        if line is not None and waiting in line:
            line.remove(waiting)
            if not line:
                del self._lines[namespace]
