"""An extender that answers as a test says, and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class Extender:
    """`answers` by verb; a verb without one is answered with 500."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.address = ""
        self._runner: web.AppRunner | None = None

    async def answer(self, request: web.Request) -> web.Response:
        verb, body = request.match_info["verb"], await request.json()
        self.asked.append((verb, body))
        answer = self.answers.get(verb)
        if answer is None:
            return web.Response(status=500)
        return web.Response(body=json.dumps(answer(body)).encode(), content_type="application/json")

    async def start(self) -> None:
        """On a free port of this machine; after `stop`, on the same one again."""
        app = web.Application(client_max_size=2**30)
        app.router.add_post("/v1/{verb}", self.answer)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        port = int(self.address.rpartition(":")[2].partition("/")[0]) if self.address else 0
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        self.address = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def stop(self) -> None:
        """Nothing listens any more."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None


@asynccontextmanager
async def serving() -> AsyncIterator[Extender]:
    made = Extender()
    await made.start()
    try:
        yield made
    finally:
        await made.stop()
