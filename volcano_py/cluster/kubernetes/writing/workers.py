"""Bounded concurrency for what is sent to the API server: so many at once, in turns, and none idle."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Generic, Protocol, TypeVar

import structlog

from volcano_py.cluster.kubernetes.backoff import RetryPolicy, retry
from volcano_py.cluster.kubernetes.clock import Clock, wait_at_most
from volcano_py.cluster.kubernetes.http.errors import StoppedError
from volcano_py.cluster.kubernetes.writing.turns import Turns

log = structlog.get_logger(__name__)

T = TypeVar("T")
R = TypeVar("R")
Item = TypeVar("Item", covariant=True)

Fence = Callable[[], bool]
"""Whether this process may still write to the cluster; `LeaderElector.is_leader` is one."""

LEASE_IS_OVER: Final = "the lease is lost"


def always() -> bool:
    """The fence of a process that needs no lease."""
    return True


class Source(Protocol[Item]):
    """Where workers take their work."""

    def take(self) -> tuple[str, Item] | None:
        """The next piece of work and its namespace, or None; it is under way until `done`."""

    def done(self, namespace: str) -> None:
        """A piece of the namespace's work is no longer under way."""


class Workers(Generic[T]):
    """Tasks, each of which takes work until there is none; they exist only while there is some.

    The source decides how many there are.
    """

    def __init__(self, name: str, source: Source[T], work: Callable[[T], Awaitable[None]]) -> None:
        """`work` does a piece of work and handles what it expects to go wrong."""
        self.quiet = asyncio.Event()
        """Set while nothing is being worked on."""
        self.quiet.set()
        self._name, self._source, self._work = name, source, work
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> int:
        """How many pieces are being worked on."""
        return len(self._tasks)

    def wake(self) -> None:
        """There may be work."""
        while (found := self._source.take()) is not None:
            task = asyncio.create_task(self._run(*found), name=self._name)
            self._tasks.add(task)
            task.add_done_callback(self._done)
            self.quiet.clear()

    async def cancel(self) -> None:
        """End what is under way."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, namespace: str, item: T) -> None:
        found: tuple[str, T] | None = namespace, item
        while found is not None:
            namespace, item = found
            try:
                await self._work(item)
            except Exception:
                # A defect in handling one piece must not take a worker, and in time all of them, away.
                log.exception("unexpected error while writing", work=self._name, item=str(item))
            finally:
                self._source.done(namespace)
            found = self._source.take()
            # More than one piece may have become free to be taken.
            self.wake()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        # Work may have come between this worker's last look and now.
        self.wake()
        if not self._tasks:
            self.quiet.set()


class Pipeline(Generic[T]):
    """Turns in front of workers. Whatever is submitted ends in `work` or in `abandon`, even when all is stopped."""

    def __init__(
        self,
        name: str,
        work: Callable[[T], Awaitable[None]],
        abandon: Callable[[T, StoppedError], None],
        *,
        namespace: Callable[[T], str],
        limit: int,
        clock: Clock,
        limit_now: Callable[[], int] | None = None,
        after: Callable[[T], Awaitable[None]] | None = None,
    ) -> None:
        """`limit` and `limit_now` are those of `Turns`; an item takes its turn with its `namespace`. `after`: what it
        waits for until it gives its slot to another, once `work` has ended."""
        self.stopped = ""
        """Why nothing new is begun; "" while all is well."""
        self._name, self._work, self._abandon, self._clock = name, work, abandon, clock
        self._namespace, self._after = namespace, after
        self._turns: Turns[T] = Turns(limit, limit_now)
        self._workers = Workers(name, self._turns, self._run)

    @property
    def quiet(self) -> asyncio.Event:
        """Set while nothing is queued or under way."""
        return self._workers.quiet

    @property
    def queued(self) -> int:
        """How many wait for a worker."""
        return len(self._turns)

    @property
    def busy(self) -> int:
        """How many are under way."""
        return self._workers.busy

    def submit(self, items: Iterable[T]) -> None:
        """Work on these: those of one namespace in this order, after all of it that was submitted before."""
        for item in items:
            self._turns.add(self._namespace(item), item)
        if self.stopped:
            self._abandon_queued()
        self._workers.wake()

    def stop_new(self, why: str) -> None:
        """Begin nothing more: what is queued is abandoned now, what is under way ends in its own time."""
        self.stopped = self.stopped or why
        self._abandon_queued()

    async def retry(self, call: Callable[[], Awaitable[R]], policy: RetryPolicy, rng: random.Random) -> R:
        """As `backoff.retry`, but only until no new work may begin."""
        return await retry(call, policy, self._clock, rng=rng, keep_trying=lambda: not self.stopped)

    async def drain(self, seconds: float) -> int:
        """Wait that long for all work to end, then stop. Returns how many were abandoned."""
        await wait_at_most(self._clock, seconds, self.quiet)
        left = self.queued + self.busy
        self.stop_new("the process ends")
        await self._workers.cancel()
        return left

    async def _run(self, item: T) -> None:
        try:
            await self._work(item)
        except asyncio.CancelledError:
            self._abandon(item, StoppedError(self._name, f"{self.stopped}; its outcome is unknown"))
            raise
        if self._after is not None:
            await self._after(item)

    def _abandon_queued(self) -> None:
        for item in self._turns.drain():
            self._abandon(item, StoppedError(self._name, self.stopped))


async def stand_back(quiet: asyncio.Event, patience: float, clock: Clock) -> None:
    """Let more urgent work go first, but wait no longer than `patience` (seconds): nothing is to starve."""
    if patience > 0 and not quiet.is_set():
        await wait_at_most(clock, patience, quiet)
