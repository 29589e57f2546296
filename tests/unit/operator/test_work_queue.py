"""The work queue: each key waits once, is worked on by one worker at a time, and is retried with pauses."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.virtual_time import LoopClock
from volcano_py.cluster.kubernetes.http.errors import api_error
from volcano_py.cluster.kubernetes.writing.rest import Rest
from volcano_py.cluster.kubernetes.writing.turns import namespace_of
from volcano_py.operator.work_queue import WorkQueue


def work_queue(
    namespace: Callable[[str], str] = lambda _key: "ns",
    *,
    workers: int = 4,
    rests: bool = False,
    shortest: float = 0.1,
    longest: float = 30.0,
) -> WorkQueue[str]:
    """By default, all keys are of one namespace."""
    return WorkQueue[str](
        "test",
        namespace,
        workers=workers,
        rest=Rest(LoopClock()) if rests else None,
        shortest=shortest,
        longest=longest,
    )


@asynccontextmanager
async def working(
    queue: WorkQueue[str], handle: Callable[[str], Awaitable[None]], **options: Any
) -> AsyncIterator[None]:
    task = asyncio.create_task(queue.run(handle, **options))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_key_that_waits_is_not_queued_twice() -> None:
    queue, done = work_queue(), list[str]()

    async def handle(key: str) -> None:
        done.append(key)

    for key in ("a", "b", "a", "a"):
        queue.add(key)
    assert len(queue) == 2
    async with working(queue, handle):
        await queue.idle()
    assert done == ["a", "b"]
    assert len(queue) == 0


async def test_a_change_during_the_work_brings_one_more_look_afterwards() -> None:
    queue, looks, at_once = work_queue(), list[float](), set[str]()

    async def handle(key: str) -> None:
        assert key not in at_once
        at_once.add(key)
        looks.append(asyncio.get_running_loop().time())
        if len(looks) == 1:
            queue.add(key)
            queue.add(key)
        await asyncio.sleep(1)
        at_once.discard(key)

    queue.add("a")
    async with working(queue, handle):
        await queue.idle()
    assert looks == [0, 1]


@pytest.mark.parametrize(("seconds", "next_begins"), [(0.1, 0.6), (2.0, 3.0)])
async def test_a_worker_that_rests_leaves_its_namespace_time(seconds: float, next_begins: float) -> None:
    """Five times as long as the work took, a second at most; other namespaces do not wait for it."""
    queue, began = work_queue(namespace_of, workers=1, rests=True), dict[str, float]()

    async def handle(key: str) -> None:
        began[key] = asyncio.get_running_loop().time()
        await asyncio.sleep(seconds)

    for key in ("a/1", "a/2", "b/1"):
        queue.add(key)
    async with working(queue, handle):
        await queue.idle()
    assert began == pytest.approx({"a/1": 0, "b/1": 0, "a/2": next_begins})


async def test_a_key_that_changed_may_come_again_while_its_worker_rests() -> None:
    queue, looks = work_queue(workers=4, rests=True), list[float]()

    async def handle(_key: str) -> None:
        looks.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.1)

    queue.add("a")
    async with working(queue, handle):
        await asyncio.sleep(0.2)
        queue.add("a")
        await queue.idle()
    assert looks == pytest.approx([0, 0.2])


async def test_no_more_keys_are_worked_on_than_there_are_workers() -> None:
    queue, now, most = work_queue(workers=3), 0, 0

    async def handle(key: str) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(1)
        now -= 1

    for number in range(10):
        queue.add(str(number))
    async with working(queue, handle):
        await queue.idle()
        assert asyncio.get_running_loop().time() == 4
    assert most == 3


async def test_namespaces_take_turns_whatever_the_backlog_of_one_of_them() -> None:
    queue, done = work_queue(namespace_of, workers=1), list[str]()

    async def handle(key: str) -> None:
        done.append(key)
        await asyncio.sleep(1)

    for number in range(100):
        queue.add(f"busy/{number}")
    queue.add("other/0")
    queue.add("other/1")
    async with working(queue, handle):
        await queue.idle()
    assert [key for key in done if key.startswith("busy")] == [f"busy/{number}" for number in range(100)]
    assert {"other/0", "other/1"} < set(done[:5])


async def test_a_namespace_whose_work_never_ends_leaves_workers_for_others() -> None:
    """As where a webhook lets every request of its namespace time out."""
    queue, done = work_queue(namespace_of, workers=4), list[str]()

    async def handle(key: str) -> None:
        if key.startswith("stuck"):
            await asyncio.Event().wait()
        await asyncio.sleep(1)
        done.append(key)

    for number in range(100):
        queue.add(f"stuck/{number}")
    async with working(queue, handle):
        await asyncio.sleep(1000)
        for number in range(3):
            queue.add(f"other/{number}")
        await asyncio.sleep(10)
    assert done == ["other/0", "other/1", "other/2"]


async def test_a_delay_is_kept_and_the_earlier_time_wins() -> None:
    queue, looks = work_queue(), dict[str, float]()

    async def handle(key: str) -> None:
        looks[key] = asyncio.get_running_loop().time()

    for key, delays in {"later": [5, 9], "earlier": [9, 5], "at once": [5, 0], "as planned": [7]}.items():
        for delay in delays:
            queue.add(key, delay)
    async with working(queue, handle):
        await queue.idle()
    assert looks == {"at once": 0, "later": 5, "earlier": 5, "as planned": 7}


async def test_failures_are_retried_after_growing_pauses() -> None:
    queue, looks = work_queue(shortest=1, longest=8), list[float]()

    async def handle(key: str) -> None:
        looks.append(asyncio.get_running_loop().time())
        if len(looks) < 12:
            raise ValueError("not yet")

    queue.add("a")
    async with working(queue, handle):
        await queue.idle()
    pauses = [later - earlier for earlier, later in itertools.pairwise(looks)]
    bounds = [1, 2, 4, *[8] * 8]
    assert len(pauses) == len(bounds)
    assert all(0 <= pause <= bound for pause, bound in zip(pauses, bounds, strict=True))
    assert len(set(pauses)) > 1


async def test_the_servers_own_pause_is_kept() -> None:
    queue, looks = work_queue(), list[float]()

    async def handle(key: str) -> None:
        looks.append(asyncio.get_running_loop().time())
        if len(looks) == 1:
            raise api_error("GET", "/", 429, b"", retry_after="20")

    queue.add("a")
    async with working(queue, handle):
        await queue.idle()
    assert looks == [0, 20]


async def test_a_key_given_up_is_not_retried_until_it_changes_again() -> None:
    queue, failures = work_queue(shortest=1, longest=1), list[int]()

    async def handle(key: str) -> None:
        raise ValueError("never")

    def twice(key: str, error: Exception, count: int) -> bool:
        failures.append(count)
        return count < 2

    async with working(queue, handle, on_failure=twice):
        queue.add("a")
        await queue.idle()
        queue.add("a")
        await queue.idle()
    assert failures == [1, 2, 1, 2]


async def test_a_success_forgets_the_failures_before() -> None:
    queue, failures, looks = work_queue(shortest=1, longest=1), list[int](), 0

    async def handle(key: str) -> None:
        nonlocal looks
        looks += 1
        if looks % 2:
            raise ValueError("every other time")

    def always(key: str, error: Exception, count: int) -> bool:
        failures.append(count)
        return True

    async with working(queue, handle, on_failure=always):
        for _ in range(2):
            queue.add("a")
            await queue.idle()
    assert failures == [1, 1]


async def test_one_keys_failure_does_not_hold_up_the_others() -> None:
    queue, done = work_queue(workers=1, shortest=50, longest=50), list[str]()

    async def handle(key: str) -> None:
        if key == "bad" and asyncio.get_running_loop().time() == 0:
            raise ValueError("bad")
        done.append(key)

    async with working(queue, handle):
        for key in ("bad", "good", "better"):
            queue.add(key)
        await queue.idle()
    assert done == ["good", "better", "bad"]


async def test_what_was_not_done_when_the_workers_stopped_is_done_by_the_next() -> None:
    queue, done = work_queue(workers=1, shortest=1000, longest=1000), list[str]()

    async def stuck(key: str) -> None:
        if key == "failing":
            raise ValueError("try again in an hour")
        await asyncio.Event().wait()

    async def handle(key: str) -> None:
        done.append(key)

    for key in ("failing", "stuck", "waiting"):
        queue.add(key)
    async with working(queue, stuck):
        await asyncio.sleep(1)
    async with working(queue, handle):
        await queue.idle()
        assert asyncio.get_running_loop().time() < 2
    assert sorted(done) == ["failing", "stuck", "waiting"]


async def test_a_queue_without_keys_is_idle() -> None:
    queue = work_queue()
    await queue.idle()
    queue.add("a", 1)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.idle(), 10)
