"""Connections and memory of the webhook port between peers, and turns of reviews between namespaces."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import given

from volcano_py.operator.webhooks.peer_shares import NoRoomError, Share, Shares
from volcano_py.operator.webhooks.review_turns import ReviewTurns

KIB = 2**10
MOST, PER_PEER, MEMORY = 6, 4, 100
OPERATIONS = st.tuples(
    st.sampled_from(["join", "begin", "hold", "end", "leave"]), st.integers(0, 9), st.integers(1, 120)
)


@given(st.lists(OPERATIONS, max_size=60))
def test_no_bound_is_ever_exceeded(operations: list[tuple[str, int, int]]) -> None:
    shares = Shares(connections=MOST, per_peer=PER_PEER, memory=MEMORY)
    alive: dict[int, Share] = {}
    for verb, key, size in operations:
        share = alive.get(key)
        with contextlib.suppress(NoRoomError):
            if verb == "join" and share is None:
                share = Share(f"peer {key % 3}", lambda: None)
                shares.join(share)
                alive[key] = share
            elif share is not None and verb == "hold":
                shares.hold(share, size)
            elif share is not None and verb == "leave":
                shares.leave(alive.pop(key))
            elif share is not None and verb in ("begin", "end"):
                getattr(shares, verb)(share)
        assert len(shares) <= MOST
        assert shares.held == sum(each.held for each in alive.values()) <= MEMORY
        assert max(Counter(each.peer for each in shares._shares).values(), default=0) <= PER_PEER
    for share in alive.values():
        shares.leave(share)
    assert (len(shares), shares.held) == (0, 0)


class Callers:
    def __init__(self, **limits: int) -> None:
        self.shares = Shares(**{"connections": 10, "per_peer": 10, "memory": 100, **limits})
        self.cut: list[str] = []

    def join(self, name: str, *, busy: bool = False) -> Share:
        """A connection of the peer that is the first letter of its name."""
        share = Share(name[0], lambda: self.cut.append(name))
        self.shares.join(share)
        if busy:
            self.shares.begin(share)
        return share


def test_when_memory_runs_out_the_largest_of_the_largest_peer_is_cut() -> None:
    callers = Callers()
    small, large, other = callers.join("a1"), callers.join("a2"), callers.join("b1")
    callers.shares.hold(small, 20)
    callers.shares.hold(large, 30)
    callers.shares.hold(other, 45)
    callers.shares.hold(other, 1)
    assert not callers.cut
    callers.shares.hold(other, 4)  # of a, which has as much, nothing is taken
    callers.shares.hold(small, 5)
    assert callers.cut == ["a2"]
    assert callers.shares.held == 75


def test_the_namespace_with_the_most_does_not_get_more() -> None:
    callers = Callers()
    large, other = callers.join("a1"), callers.join("b1")
    callers.shares.hold(other, 10)
    callers.shares.hold(large, 90)
    with pytest.raises(NoRoomError, match="try again"):
        callers.shares.hold(large, 1)
    assert (callers.cut, callers.shares.held) == ([], 10)


def test_a_full_house_takes_from_the_peer_with_the_most_connections_idle_ones_first() -> None:
    callers = Callers(connections=4)
    callers.join("a1", busy=True)
    callers.join("a2")
    callers.join("a3", busy=True)
    callers.join("b1")
    callers.join("c1")
    assert callers.cut == ["a2"]
    callers.join("c2")
    assert callers.cut == ["a2", "a1"]


def test_a_connection_that_was_used_lately_is_cut_last() -> None:
    callers = Callers(per_peer=3)
    used = callers.join("a1")
    for name in ("a2", "a3"):
        callers.join(name)
    callers.shares.begin(used)
    callers.shares.end(used)
    for name in ("a4", "a5"):
        callers.join(name)
    assert callers.cut == ["a2", "a3"]


def test_a_peer_whose_connections_are_all_busy_gets_no_more() -> None:
    callers = Callers(per_peer=2)
    for name in ("a1", "a2"):
        callers.join(name, busy=True)
    with pytest.raises(NoRoomError, match="all 2 connections of a are busy"):
        callers.join("a3")
    assert not callers.cut


class Judge:
    """Reviews under way: `begun` in the order of their turns; each stays until `finish` names it."""

    def __init__(self, size: int) -> None:
        self.turns = ReviewTurns(size)
        self.begun: list[str] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._done: dict[str, asyncio.Event] = {}

    async def come(self, name: str, size: int) -> None:
        """Of the namespace that is the first letter of the name."""
        self._done[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._stay(name, size))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def _stay(self, name: str, size: int) -> None:
        async with self.turns.turn(name[0], size):
            self.begun.append(name)
            await self._done[name].wait()

    async def finish(self, *names: str) -> None:
        for name in names:
            self._done[name].set()
            await self._tasks[name]
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def give_up(self, name: str) -> None:
        self._tasks[name].cancel()
        await asyncio.gather(self._tasks[name], return_exceptions=True)
        await asyncio.sleep(0)
        await asyncio.sleep(0)


async def test_a_namespace_with_one_review_waits_for_one_of_a_namespace_with_many() -> None:
    judge = Judge(1000 * KIB)
    for name in ("a1", "a2", "a3", "a4", "b1"):
        await judge.come(name, 1000 * KIB)
    assert judge.begun == ["a1"]
    await judge.finish("a1", "a2", "b1", "a3", "a4")
    assert judge.begun == ["a1", "a2", "b1", "a3", "a4"]


async def test_only_so_many_bytes_are_judged_at_a_time_and_small_reviews_count_too() -> None:
    judge = Judge(200 * KIB)
    for name in ("a1", "b1", "c1", "d1"):
        await judge.come(name, 1)
    assert judge.begun == ["a1", "b1", "c1"]
    await judge.finish("b1")
    assert judge.begun[-1] == "d1"


async def test_a_review_larger_than_the_bound_is_judged_alone() -> None:
    judge = Judge(100 * KIB)
    for name in ("a1", "b1", "c1"):
        await judge.come(name, 300 * KIB if name == "b1" else 1)
    assert judge.begun == ["a1"]
    await judge.finish("a1")
    assert judge.begun == ["a1", "b1"]
    await judge.finish("b1")
    assert judge.begun == ["a1", "b1", "c1"]


async def test_a_review_that_gives_up_leaves_its_place() -> None:
    judge = Judge(100 * KIB)
    for name in ("a1", "b1", "c1"):
        await judge.come(name, 100 * KIB)
    await judge.give_up("b1")
    await judge.give_up("a1")
    assert judge.begun == ["a1", "c1"]
    await judge.finish("c1")
    await judge.come("d1", 1)
    assert judge.begun[-1] == "d1"
