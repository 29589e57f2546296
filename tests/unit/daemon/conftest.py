"""What tests of the daemon share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from tests.support.sessions import node, queue
from tests.unit.cluster.fakes import PATIENCE
from tests.unit.daemon.cycling import Bench
from volcano_py.daemon.cycles import DECISIVE_PAUSE


@pytest_asyncio.fixture
async def bench() -> AsyncIterator[Bench]:
    """A loop that runs, over an empty cluster, past its first cycle."""
    bench = Bench()
    task = asyncio.create_task(bench.loop.run())
    bench.put(queue("default"), node("n1", cpu="4"))
    assert await bench.after(DECISIVE_PAUSE) == 1
    bench.reports.clear()
    bench.sent.clear()
    yield bench
    bench.loop.stop()
    await bench.clock.advance(2)
    async with asyncio.timeout(PATIENCE):
        await task
