"""The pool below all writers."""

from __future__ import annotations

import asyncio
from collections import deque

import pytest

from tests.unit.cluster.fakes import settle
from volcano_py.cluster.kubernetes.coalescing import CoalescingQueue
from volcano_py.cluster.kubernetes.workers import Workers


async def test_work_that_comes_just_as_the_last_worker_ends_is_done() -> None:
    done: list[str] = []
    queue = deque(["first"])
    loop = asyncio.get_running_loop()

    def take() -> str | None:
        if queue:
            return queue.popleft()
        if "late" not in done:
            # Runs after the worker has looked in vain, and before its end is known.
            loop.call_soon(late)
        return None

    def late() -> None:
        if "late" not in done:
            queue.append("late")
            workers.wake()

    async def work(item: str) -> None:
        done.append(item)

    workers = Workers("test", take, work, limit=1)
    workers.wake()
    await settle()

    assert done == ["first", "late"]
    assert workers.quiet.is_set()


async def test_a_failure_costs_one_piece_of_work_and_no_worker() -> None:
    queue, done = deque(["a", "b", "c"]), list[str]()

    async def work(item: str) -> None:
        if item == "a":
            raise RuntimeError("a defect")
        done.append(item)

    workers = Workers("test", lambda: queue.popleft() if queue else None, work, limit=1)
    workers.wake()
    await settle()

    assert done == ["b", "c"]


async def test_there_must_be_a_worker() -> None:
    async def work(_: str) -> None:
        """Never called."""

    with pytest.raises(ValueError, match="at least 1 must be allowed at a time, not 0"):
        Workers("bind", lambda: None, work, limit=0)


def test_a_key_in_hand_is_not_handed_out_again() -> None:
    queue = CoalescingQueue[str, int](10)
    queue.put("a", 1)
    assert queue.take() == ("a", 1)
    queue.put("a", 2)
    queue.put("b", 1)

    assert queue.take() == ("b", 1)
    assert queue.take() is None
    queue.release("a")
    assert queue.take() == ("a", 2)


def test_a_newer_value_takes_the_seat_of_the_older() -> None:
    queue = CoalescingQueue[str, int](10)
    for key, value in (("a", 1), ("b", 1), ("a", 2)):
        queue.put(key, value)

    assert [queue.take(), queue.take(), queue.take()] == [("a", 2), ("b", 1), None]
