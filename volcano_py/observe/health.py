"""The daemon's HTTP server, from the sockets that listen to the end: what it answers is in `health_routes.py`.

aiohttp's server is loaded when it is to answer: in a daemon that starts, the first bindings go before.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Sequence
from socket import socket
from typing import TYPE_CHECKING, Final

import structlog

from volcano_py.observe.listen import ListenAddress, chosen, open_socket
from volcano_py.observe.shown import Shown

if TYPE_CHECKING:
    from aiohttp import web

_ROUTES: Final = "volcano_py.observe.health_routes"

log = structlog.get_logger(__name__)


class HealthServer:
    """Serves `shown` from `start`, or from `listen` and `run`, to `stop`."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._sockets: list[socket] = []
        self._runner: web.AppRunner | None = None

    async def listen(self, addresses: Sequence[ListenAddress]) -> tuple[ListenAddress, ...]:
        """Listen; returns where really, in the same order (port 0 becomes the one that the system chose).

        A request that comes before the server answers waits: the system accepts the connections.

        Raises:
            ListenError: one of them cannot be had; then none is listened on.
        """
        if self._sockets:
            raise RuntimeError("the server is already running: stop it first")
        try:
            for address in addresses:
                self._sockets.append(await open_socket(address))
        except BaseException:
            await self.stop()
            raise
        found = tuple(map(chosen, self._sockets))
        log.info("serving metrics and health", addresses=[str(address) for address in found])
        return found

    async def answer(self) -> None:
        """Begin to answer. What that needs is loaded in a thread, as the loop has more urgent things to do."""
        routes = await asyncio.to_thread(importlib.import_module, _ROUTES)
        self._runner = await routes.serve(self._shown, self._sockets)

    async def run(self, after: Callable[[], Awaitable[None]]) -> None:
        """Answer once `after` has returned; returns only when cancelled, and answers until `stop`."""
        await after()
        await self.answer()
        await asyncio.Event().wait()

    async def start(self, addresses: Sequence[ListenAddress]) -> tuple[ListenAddress, ...]:
        """Listen and answer at once; see `listen`."""
        found = await self.listen(addresses)
        await self.answer()
        return found

    async def stop(self) -> None:
        """Stop listening and end what is under way; harmless when not started."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()
        sockets, self._sockets = self._sockets, []
        for each in sockets:
            each.close()
