"""Which request is served next: namespaces take turns, and none holds all of the slots.

So the backlog of one namespace delays the first request of another by one round at most, and requests that take long,
such as those that a slow webhook holds up, leave slots for the requests of others.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Final, Generic, TypeVar

T = TypeVar("T")

CLUSTER: Final = ""
"""The namespace that objects without one count as: together they are one tenant."""

_SHARE: Final = 4
"""A namespace takes another slot while it holds fewer than so many times what is free besides: so one that is
alone gets four fifths of all, and the more namespaces there are, the less each of them gets."""


def namespace_of(key: str) -> str:
    """The namespace of namespace/name."""
    return key.partition("/")[0]


class FairQueue(Generic[T]):
    """Items wait by namespace. Namespaces take turns; within one, what came first is served first."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[T]] = OrderedDict()
        """By namespace, the one whose turn is next first; none is empty."""
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, namespace: str, item: T) -> None:
        """Wait behind all else of the namespace."""
        self._lines.setdefault(namespace, deque()).append(item)
        self._length += 1

    def take(self, may: Callable[[str], bool] = lambda _namespace: True) -> tuple[str, T] | None:
        """The next item, with its namespace, of those that `may` be served now; None when there is none."""
        for _ in range(len(self._lines)):
            namespace = next(iter(self._lines))
            self._lines.move_to_end(namespace)
            if may(namespace):
                return namespace, self._pop(namespace)
        return None

    def give_up_oldest(self) -> T:
        """Take, out of turn, what came first of the namespace with the most items; something has to wait."""
        return self._pop(max(self._lines, key=lambda namespace: len(self._lines[namespace])))

    def drain(self) -> Iterator[T]:
        """Take all that wait."""
        while (found := self.take()) is not None:
            yield found[1]

    def _pop(self, namespace: str) -> T:
        line = self._lines[namespace]
        item = line.popleft()
        self._length -= 1
        if not line:
            del self._lines[namespace]
        return item


class Turns(Generic[T]):
    """A fair queue in front of a bounded number of slots: one for each item that was taken and is not done.

    `limit` is how many slots one namespace may hold; a quarter more are there for others. The last free slot goes only
    to a namespace that holds none.
    """

    def __init__(self, limit: int, limit_now: Callable[[], int] | None = None) -> None:
        """`limit_now`: how many slots one namespace may hold at the moment, if not always `limit`."""
        if limit < 1:
            raise ValueError(f"at least 1 must be allowed at a time, not {limit}")
        self.slots = limit + -(-limit // _SHARE) + 1
        """How many items may be under way at a time, of all namespaces."""
        self._limit_now = limit_now or (lambda: limit)
        self._free = self.slots
        self._queue: FairQueue[T] = FairQueue()
        self._held: Counter[str] = Counter()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._queue)

    def add(self, namespace: str, item: T) -> None:
        """Wait for a slot."""
        self._queue.add(namespace, item)

    def take(self) -> tuple[str, T] | None:
        """The next item, with its namespace, which holds a slot from now until `done`; None when there is no slot for
        any that waits."""
        # Each namespace that is skipped holds a slot, so few are: as many as there are slots.
        found = self._queue.take(self._may_take) if self._free else None
        if found is not None:
            self._held[found[0]] += 1
            self._free -= 1
        return found

    def done(self, namespace: str) -> None:
        """An item of the namespace holds its slot no more."""
        self._free += 1
        self._held[namespace] -= 1
        if not self._held[namespace]:
            del self._held[namespace]

    def give_up_oldest(self) -> T:
        """See `FairQueue.give_up_oldest`; it gets no slot."""
        return self._queue.give_up_oldest()

    def drain(self) -> Iterator[T]:
        """Take all that wait; they get no slots."""
        return self._queue.drain()

    def _may_take(self, namespace: str) -> bool:
        held = self._held.get(namespace, 0)
        return not held or held < min(self._limit_now(), _SHARE * (self._free - 1))


class Slots:
    """A semaphore whose waiters take turns by namespace; see `Turns`."""

    def __init__(self, limit: int) -> None:
        self._turns: Turns[asyncio.Future[None]] = Turns(limit)

    @asynccontextmanager
    async def hold(self, namespace: str) -> AsyncIterator[None]:
        """Wait for a slot, and hold it for as long as the block lasts."""
        await self._wait(namespace)
        try:
            yield
        finally:
            self._turns.done(namespace)
            self._grant()

    async def _wait(self, namespace: str) -> None:
        ready = asyncio.get_running_loop().create_future()
        self._turns.add(namespace, ready)
        self._grant()
        try:
            await ready
        except asyncio.CancelledError:
            if not ready.cancelled():  # it was granted in the same moment
                self._turns.done(namespace)
                self._grant()
            raise

    def _grant(self) -> None:
        while (found := self._turns.take()) is not None:
            namespace, ready = found
            if ready.done():
                self._turns.done(namespace)  # its caller has stopped waiting
            else:
                ready.set_result(None)
