"""Whether kopf's watch of queues is open. kopf does not say, but its requests go through our session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import aiohttp

from volcano_py.operator.kube_api import queue_path


class QueueWatch:
    """Observes kopf's requests (see `KopfLogin`). `on_open` is called whenever a watch of queues has been opened."""

    def __init__(self, on_open: Callable[[], None]) -> None:
        self.lost = asyncio.Event()
        """Set while none is open although one should be."""
        self.lost_at = float("-inf")
        """Monotonic time at which the last one ended."""
        self._on_open = on_open
        self._open = 0

    def expect(self) -> None:
        """From now on one should be open."""
        if not self._open:
            self.lost.set()

    async def __call__(self, request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        """An aiohttp middleware, which changes nothing."""
        response = await send(request)
        # Without a connection the answer is complete already.
        if _is_watch_of_queues(request) and response.status == 200 and response.connection is not None:
            response.connection.add_callback(self._ended)
            self._open += 1
            self.lost.clear()
            self._on_open()
        return response

    def _ended(self) -> None:
        self._open -= 1
        if not self._open:
            self.lost_at = time.monotonic()
            self.lost.set()


def _is_watch_of_queues(request: aiohttp.ClientRequest) -> bool:
    # The server may have a path of its own before ours.
    return request.url.path.endswith(str(queue_path())) and "watch" in request.url.query
