"""The supervisor: restarts what may be restarted, fails the process for what may not, stops in order."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal

import pytest

from tests.unit.cluster.fakes import PATIENCE
from volcano_py.daemon.supervision import ChildFailedError, Supervisor


def now() -> float:
    return asyncio.get_running_loop().time()


async def forever() -> None:
    await asyncio.Event().wait()


async def test_a_child_that_fails_is_started_again_with_growing_pauses() -> None:
    supervisor, starts = Supervisor(pause=1, longest_pause=4), list[float]()

    async def child() -> None:
        starts.append(now())
        if len(starts) == 9:
            supervisor.stop("seen enough")
            await forever()
        raise OSError("no cluster")

    supervisor.add("feed", child)
    await supervisor.run()
    pauses = [later - earlier for earlier, later in itertools.pairwise(starts)]
    assert all(pause <= bound for pause, bound in zip(pauses, [1, 2, *[4] * 6], strict=True))
    assert supervisor.restarts == {"feed": 8}


async def test_a_child_that_returns_is_started_again_too() -> None:
    supervisor, starts = Supervisor(), 0

    async def child() -> None:
        nonlocal starts
        starts += 1
        if starts == 2:
            supervisor.stop("seen enough")
            await forever()

    supervisor.add("feed", child)
    await supervisor.run()
    assert starts == 2


async def test_a_child_that_was_healthy_is_started_again_at_once() -> None:
    supervisor, starts = Supervisor(pause=1, longest_pause=1000, healthy_after=60), list[float]()

    async def child() -> None:
        starts.append(now())
        if len(starts) == 20:
            supervisor.stop("seen enough")
        await asyncio.sleep(90)
        raise OSError("again")

    supervisor.add("feed", child)
    await supervisor.run()
    assert all(later - earlier < 92 for earlier, later in itertools.pairwise(starts))


@pytest.mark.parametrize("error", [OSError("disk full"), None])
async def test_an_indispensable_child_that_ends_stops_the_process(error: Exception | None) -> None:
    supervisor, stopped = Supervisor(), list[str]()

    async def indispensable() -> None:
        await asyncio.sleep(1)
        if error is not None:
            raise error

    async def other() -> None:
        try:
            await forever()
        finally:
            stopped.append("other")

    supervisor.add("other", other)
    supervisor.add("scheduler", indispensable, restart=False)
    ended = "failed: disk full" if error else "ended by itself"
    with pytest.raises(ChildFailedError, match=f"scheduler {ended}; the process cannot go on without it") as raised:
        await supervisor.run()
    assert raised.value.__cause__ is error
    assert stopped == ["other"]


async def test_children_are_stopped_in_reverse_order_each_after_the_other() -> None:
    supervisor, stopped = Supervisor(), list[tuple[str, float]]()

    def child(name: str) -> None:
        async def run() -> None:
            try:
                await forever()
            finally:
                await asyncio.sleep(2)
                stopped.append((name, now()))

        supervisor.add(name, run)

    for name in ("client", "informers", "scheduler"):
        child(name)
    asyncio.get_running_loop().call_later(1, supervisor.stop, "test")
    await supervisor.run()
    assert stopped == [("scheduler", 3), ("informers", 5), ("client", 7)]


async def test_a_child_that_does_not_end_is_left_behind_after_the_timeout() -> None:
    supervisor, released = Supervisor(stop_timeout=5), asyncio.Event()

    async def stubborn() -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    supervisor.add("stubborn", stubborn)
    asyncio.get_running_loop().call_later(1, supervisor.stop, "test")
    await supervisor.run()
    assert now() == 6
    released.set()
    await asyncio.sleep(0)


async def test_a_second_request_to_stop_does_not_wait() -> None:
    supervisor, released = Supervisor(stop_timeout=1000), asyncio.Event()

    async def slow() -> None:
        try:
            await forever()
        finally:
            await released.wait()

    supervisor.add("slow", slow)
    loop = asyncio.get_running_loop()
    loop.call_later(1, supervisor.stop, "first")
    loop.call_later(2, supervisor.stop, "second")
    await supervisor.run()
    assert now() == 2
    released.set()
    await asyncio.sleep(0)


async def test_an_error_while_stopping_is_no_restart() -> None:
    supervisor, starts = Supervisor(), 0

    async def child() -> None:
        nonlocal starts
        starts += 1
        try:
            await forever()
        finally:
            raise OSError("closed already")

    supervisor.add("feed", child)
    asyncio.get_running_loop().call_later(1, supervisor.stop, "test")
    await supervisor.run()
    assert starts == 1


@pytest.mark.real_time
async def test_signals_stop_the_supervisor_even_after_another_handler_took_them() -> None:
    supervisor, taken = Supervisor(), list[str]()
    supervisor.add("child", forever)
    loop = asyncio.get_running_loop()
    supervisor.own_signals()
    loop.add_signal_handler(signal.SIGTERM, taken.append, "another handler")
    supervisor.own_signals()
    try:
        loop.call_soon(os.kill, os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(supervisor.run(), PATIENCE)
    finally:
        supervisor.release_signals()
    assert supervisor.is_stopping
    assert taken == []
