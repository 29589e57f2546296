"""What only the garbage collector finds is freed by the clock too, as a daemon at rest makes too little of it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.unit.cluster.fakes import FakeClock
from volcano_py.daemon.garbage import collect_by_the_clock


class Knot:
    """Refers to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def by_the_clock_alone() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest_asyncio.fixture
async def clock() -> AsyncIterator[FakeClock]:
    """That of a collector at work."""
    clock = FakeClock()
    task = asyncio.create_task(collect_by_the_clock(clock))
    yield clock
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_a_young_knot_is_undone_within_a_minute(clock: FakeClock) -> None:
    knot = weakref.ref(Knot())
    await clock.advance(59)
    assert knot() is not None
    await clock.advance(1)
    assert knot() is None


async def test_one_that_has_grown_old_is_undone_too(clock: FakeClock) -> None:
    kept = Knot()
    knot = weakref.ref(kept)
    await clock.advance(240)
    del kept
    await clock.advance(120)
    assert knot() is not None, "it was looked at too often to be young"
    await clock.advance(240)
    assert knot() is None
