"""The pool below all writers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from tests.unit.cluster.fakes import settle
from volcano_py.cluster.kubernetes.writing.coalescing import CoalescingQueue
from volcano_py.cluster.kubernetes.writing.workers import Workers


class Line:
    """A source with one slot; `at_end` is called whenever it is found empty."""

    def __init__(self, items: Iterable[str], at_end: Callable[[], None] = lambda: None) -> None:
        self.items = deque(items)
        self._at_end, self._is_free = at_end, True

    def take(self) -> tuple[str, str] | None:
        if not self._is_free:
            return None
        if not self.items:
            self._at_end()
            return None
        self._is_free = False
        return "ns", self.items.popleft()

    def done(self, namespace: str) -> None:
        assert namespace == "ns"
        self._is_free = True


async def test_work_that_comes_just_as_the_last_worker_ends_is_done() -> None:
    done: list[str] = []
    loop = asyncio.get_running_loop()

    looked = False

    def at_end() -> None:
        nonlocal looked
        if not looked:
            # Runs after the worker has found nothing, and before its end is known.
            looked = True
            loop.call_soon(late)

    def late() -> None:
        line.items.append("late")
        workers.wake()

    async def work(item: str) -> None:
        done.append(item)

    line = Line(["first"], at_end)
    workers = Workers("test", line, work)
    workers.wake()
    await settle()

    assert done == ["first", "late"]
    assert workers.quiet.is_set()


async def test_a_failure_costs_one_piece_of_work_and_no_worker() -> None:
    done = list[str]()

    async def work(item: str) -> None:
        if item == "a":
            raise RuntimeError("a defect")
        done.append(item)

    workers = Workers("test", Line(["a", "b", "c"]), work)
    workers.wake()
    await settle()

    assert done == ["b", "c"]


def queue_of(capacity: int = 10, limit: int = 4) -> CoalescingQueue[str, int]:
    return CoalescingQueue[str, int](capacity, limit)


def take(queue: CoalescingQueue[str, int]) -> tuple[str, int] | None:
    found = queue.urgent.take() or queue.lane.take()
    return found[1] if found is not None else None


def test_a_key_in_hand_is_not_handed_out_again() -> None:
    queue = queue_of()
    queue.put("ns", "a", 1)
    assert take(queue) == ("a", 1)
    queue.put("ns", "a", 2)
    queue.put("ns", "b", 1)

    assert take(queue) == ("b", 1)
    assert take(queue) is None
    queue.release("a")
    assert take(queue) == ("a", 2)


def test_a_newer_value_takes_the_seat_of_the_older() -> None:
    queue = queue_of()
    for key, value in (("a", 1), ("b", 1), ("a", 2)):
        queue.put("ns", key, value)

    assert [take(queue), take(queue), take(queue)] == [("a", 2), ("b", 1), None]


def test_the_namespace_with_the_most_makes_room() -> None:
    queue = queue_of(capacity=3)
    assert [queue.put("other", "o", 0), queue.put("busy", "a", 1), queue.put("busy", "b", 2)] == [None] * 3
    assert queue.put("busy", "c", 3) == 1
    assert queue.put("third", "t", 4) == 2
    assert (queue.dropped, len(queue)) == (2, 3)
    assert sorted(found for found in (take(queue) for _ in range(4)) if found) == [("c", 3), ("o", 0), ("t", 4)]


def test_what_came_for_keys_in_hand_makes_no_room() -> None:
    queue = queue_of(capacity=1)
    queue.put("ns", "a", 1)
    assert take(queue) == ("a", 1)
    assert queue.put("ns", "a", 2) is None
    assert queue.put("ns", "b", 3) == 3
    queue.release("a")
    assert take(queue) == ("a", 2)


def test_a_queue_that_was_cleared_gives_nothing_out() -> None:
    queue = queue_of()
    queue.put("ns", "a", 1)
    queue.put("ns", "b", 1)
    assert take(queue) == ("a", 1)
    queue.put("ns", "a", 2)
    assert (queue.clear(), queue.dropped, len(queue)) == (2, 2, 0)
    queue.release("a")
    assert take(queue) is None


def test_what_is_urgent_waits_for_no_slot_that_others_of_its_namespace_hold() -> None:
    queue = queue_of(limit=1)
    for key in ("a", "b", "c"):
        queue.put("ns", key, 1)
    assert queue.lane.take() == ("ns", ("a", 1))
    assert queue.lane.take() is None
    queue.put("ns", "d", 2, urgent=True)
    assert queue.urgent.take() == ("ns", ("d", 2))


def test_a_key_that_becomes_urgent_is_handed_out_once() -> None:
    queue = queue_of()
    queue.put("ns", "a", 1)
    queue.put("ns", "a", 2, urgent=True)
    assert queue.urgent.take() == ("ns", ("a", 2))
    assert queue.lane.take() is None
    queue.release("a")
    queue.put("ns", "a", 3)
    assert queue.urgent.take() is None
    assert [take(queue), take(queue)] == [("a", 3), None]


def test_what_is_urgent_and_in_hand_comes_into_its_lane_when_released() -> None:
    queue = queue_of()
    queue.put("ns", "a", 1)
    assert queue.lane.take() == ("ns", ("a", 1))
    queue.put("ns", "a", 2, urgent=True)
    assert queue.urgent.take() is None
    queue.release("a")
    assert queue.lane.take() is None
    assert queue.urgent.take() == ("ns", ("a", 2))


def test_what_is_urgent_makes_room_last() -> None:
    queue = queue_of(capacity=2)
    queue.put("busy", "a", 1, urgent=True)
    queue.put("busy", "b", 2, urgent=True)
    assert queue.put("other", "c", 3) == 3
    assert queue.put("other", "d", 4, urgent=True) == 1
    assert len(queue) == 2
