"""What only the garbage collector finds is freed by the clock too, as a daemon at rest makes too little of it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import platform
import subprocess
import sys
import weakref
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.unit.cluster.fakes import FakeClock
from volcano_py.cli.main import GARBAGE_AT_THE_START
from volcano_py.daemon.garbage import (
    THRESHOLDS,
    collect_by_the_clock,
    keep_what_there_is,
)


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


async def test_one_that_has_grown_old_is_undone_as_soon(clock: FakeClock) -> None:
    kept = Knot()
    knot = weakref.ref(kept)
    await clock.advance(240)
    del kept
    await clock.advance(59)
    assert knot() is not None
    await clock.advance(1)
    assert knot() is None


@pytest.mark.parametrize(
    ("takes", "at"),
    [(0.0, [60, 120, 180, 240, 300, 360]), (0.15, [60, 240]), (0.5, [60])],
    ids=["quick", "slow", "slower"],
)
@pytest.mark.parametrize("work", ["collect", "afterwards"])
async def test_each_is_done_as_often_as_it_may_take_time(work: str, takes: float, at: list[int]) -> None:
    clock, done = FakeClock(), list[int]()

    def slow() -> None:
        done.append(int(clock.time - 1000))
        clock.time += takes

    task = asyncio.create_task(collect_by_the_clock(clock, **{work: slow}))
    await clock.advance(400)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert done == at


async def test_a_young_knot_does_not_wait_for_a_look_at_all_that_takes_long() -> None:
    clock = FakeClock()

    def slow() -> None:
        clock.time += 10

    task = asyncio.create_task(collect_by_the_clock(clock, collect=slow))
    await clock.advance(70)
    knot = weakref.ref(Knot())
    await clock.advance(60)
    assert knot() is None
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def test_young_objects_are_looked_at_as_usual_once_the_daemon_has_started() -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(*GARBAGE_AT_THE_START)
        keep_what_there_is()
        assert gc.get_threshold() == THRESHOLDS
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


ROOT = Path(__file__).parents[3]
HOLES = """
import ctypes, os
from e2e.faults.invariants.memory import resident_bytes
from volcano_py.daemon.garbage import give_back

# large pieces, with a small one after each that keeps glibc from giving them back by itself
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
sizes = [size for _ in range(640) for size in (100 * 1024, 2 * 1024)]
pieces = [libc.malloc(size) for size in sizes]
for piece, size in zip(pieces, sizes):
    ctypes.memset(piece, 1, size)
for piece in pieces[::2]:
    libc.free(piece)
with_holes = resident_bytes(os.getpid())
give_back()
print(with_holes - resident_bytes(os.getpid()))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries are left alone")
def test_holes_between_what_lives_on_take_no_memory() -> None:
    """In a process of its own: where pieces come to lie depends on what was freed before."""
    answer = subprocess.run([sys.executable, "-c", HOLES], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    assert int(answer.stdout) > 640 * 80 * 1024


COPIES = """
import resource
import numpy as np
from volcano_py.daemon.garbage import keep_for_the_next_cycle

columns = [np.zeros(100_000) for _ in range(20)]

def faults_of_copies():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        copies = [column.copy() for column in columns]
        del copies
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep_for_the_next_cycle()
faults_of_copies()
print(faults_of_copies())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries are left alone")
def test_each_copy_of_the_state_takes_the_memory_of_the_one_before() -> None:
    """Otherwise the system is asked again for some 4,000 pages of each."""
    answer = subprocess.run([sys.executable, "-c", COPIES], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    assert int(answer.stdout) < 1000
