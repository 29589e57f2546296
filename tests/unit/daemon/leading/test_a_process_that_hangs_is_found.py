"""The watchdog finds an event loop that does not answer, and parts that are stuck; it counts, and has no clock."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.unit.cluster.fakes import FakeClock, settle
from volcano_py.daemon.leading.watchdog import LOOP_ANSWERS_WITHIN, Watchdog


@pytest.fixture
def stuck_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop that runs nothing."""
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


async def test_a_loop_that_does_not_answer_is_found(stuck_loop: asyncio.AbstractEventLoop) -> None:
    clock = FakeClock()
    watching = asyncio.create_task(Watchdog(stuck_loop, clock=clock).run())
    await clock.advance(LOOP_ANSWERS_WITHIN - 1)
    assert not watching.done()
    await clock.advance(1)
    assert await watching == "the event loop has not answered for 30 s"


async def test_a_loop_that_answers_again_is_left_alone(stuck_loop: asyncio.AbstractEventLoop) -> None:
    clock = FakeClock()
    watching = asyncio.create_task(Watchdog(stuck_loop, clock=clock).run())
    for _ in range(3):
        await clock.advance(LOOP_ANSWERS_WITHIN - 1)
        await asyncio.to_thread(stuck_loop.run_until_complete, asyncio.sleep(0))
    assert not watching.done()
    watching.cancel()


async def test_a_process_that_stood_still_has_not_hung() -> None:
    """SIGSTOP for an hour: the clock went on, and no question was asked."""
    clock = FakeClock()
    watching = asyncio.create_task(Watchdog(asyncio.get_running_loop(), clock=clock).run())
    await settle()
    clock.time += 3600
    await clock.advance(2)
    assert not watching.done()
    watching.cancel()


async def test_a_part_that_is_stuck_is_found() -> None:
    clock, problem = FakeClock(), [""]
    watchdog = Watchdog(asyncio.get_running_loop(), clock=clock)
    watchdog.add(lambda: problem[0] or None)
    watching = asyncio.create_task(watchdog.run())
    await clock.advance(100)
    assert not watching.done()
    problem[0] = "a cycle has been running for more than 300 s"
    await clock.advance(1)
    assert await watching == problem[0]
