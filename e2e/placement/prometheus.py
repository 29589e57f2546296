"""A Prometheus that answers with the load that a test sets."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web


class Prometheus:
    """Answers queries with the load of nodes, the same for CPU and memory."""

    def __init__(self) -> None:
        self.load: dict[str, float] = {}
        self.asked = 0
        self.address = ""

    async def query(self, _request: web.Request) -> web.Response:
        self.asked += 1
        now = time.time()
        result = [{"metric": {"instance": name}, "value": [now, str(part)]} for name, part in self.load.items()]
        return web.json_response({"status": "success", "data": {"resultType": "vector", "result": result}})


@asynccontextmanager
async def serving() -> AsyncIterator[Prometheus]:
    """On a free port of this machine."""
    made = Prometheus()
    app = web.Application()
    app.router.add_get("/api/v1/query", made.query)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield made
    finally:
        await runner.cleanup()
