"""A queue of keys to be worked on: each key waits once, is never worked on twice at a time, and is retried with pauses.

Namespaces take turns, and none holds all workers.

Controllers put in the key of what changed and look up the newest object when its turn comes. So a hundred changes of
one object while it waits cost one look, and nothing is ever decided on an old copy.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import msgspec
import structlog

from volcano_py.cluster.kubernetes.backoff import Backoff
from volcano_py.cluster.kubernetes.http.errors import RequestError
from volcano_py.cluster.kubernetes.writing.rest import Rest
from volcano_py.cluster.kubernetes.writing.turns import Turns

KeyT = TypeVar("KeyT", bound=Hashable)
Handle = Callable[[KeyT], Awaitable[None]]
OnFailure = Callable[[KeyT, Exception, int], bool]
"""Called with a failure (key, error, number of failures in a row); returns whether to try again."""

log = structlog.get_logger(__name__)


class _Failures(msgspec.Struct):
    """Failures of one key in a row."""

    backoff: Backoff
    count: int = 0


def retry_always(_key: Hashable, _error: Exception, _failures: int) -> bool:
    """Try again, however often it failed."""
    return True


class WorkQueue(Generic[KeyT]):
    """To be used from one event loop only."""

    def __init__(
        self,
        name: str,
        namespace: Callable[[KeyT], str],
        *,
        workers: int,
        rest: Rest | None = None,
        shortest: float = 0.1,
        longest: float = 30.0,
    ) -> None:
        """`namespace`: whose turn it is when a key is worked on; `workers`: keys of one namespace that are worked on at
        a time, see `Turns`. `rest`: what a worker takes after each key, if any. `shortest`, `longest`: bounds in
        seconds of the pause after the first failure and after many."""
        self.name = name
        self._namespace, self._rest = namespace, rest
        self._shortest, self._longest = shortest, longest
        self._ready: Turns[KeyT] = Turns(workers)
        self._sleeping: deque[asyncio.Future[None]] = deque()
        """Of workers that have found nothing to do."""
        self._waiting: set[KeyT] = set()
        self._delayed: dict[KeyT, asyncio.TimerHandle] = {}
        self._active: set[KeyT] = set()
        self._again: set[KeyT] = set()
        self._failures: dict[KeyT, _Failures] = {}
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        """Keys that wait, are delayed or are being worked on."""
        return len(self._waiting) + len(self._delayed) + len(self._active | self._again)

    def add(self, key: KeyT, delay: float = 0.0) -> None:
        """Work on `key` as soon as a worker is free, or in `delay` seconds. The earlier time wins."""
        if key in self._waiting:
            return
        self._idle.clear()
        if delay > 0:
            self._add_later(key, delay)
            return
        if (timer := self._delayed.pop(key, None)) is not None:
            timer.cancel()
        if key in self._active:
            self._again.add(key)
            return
        self._waiting.add(key)
        self._ready.add(self._namespace(key), key)
        self._wake_one()

    async def run(self, handle: Handle[KeyT], *, on_failure: OnFailure[KeyT] = retry_always) -> None:
        """Work until cancelled. An error of `handle` only concerns its key."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self._ready.slots):
                    group.create_task(self._work(handle, on_failure), name=f"{self.name} {number}")
        finally:
            for timer in self._delayed.values():
                timer.cancel()
            self._requeue_delayed()

    async def idle(self) -> None:
        """Returns when no key waits, is delayed or is being worked on."""
        await self._idle.wait()

    def _add_later(self, key: KeyT, delay: float) -> None:
        loop = asyncio.get_running_loop()
        earlier = self._delayed.get(key)
        if earlier is not None:
            if earlier.when() <= loop.time() + delay:
                return
            earlier.cancel()
        self._delayed[key] = loop.call_later(delay, self._delay_over, key)

    def _delay_over(self, key: KeyT) -> None:
        self._delayed.pop(key, None)
        self.add(key)

    def _requeue_delayed(self) -> None:
        """Keys that were delayed when the workers stopped come first when they start again."""
        for key in list(self._delayed):
            del self._delayed[key]
            self.add(key)

    async def _work(self, handle: Handle[KeyT], on_failure: OnFailure[KeyT]) -> None:
        while True:
            namespace, key = await self._next()
            began = self._rest.begin() if self._rest is not None else 0.0
            try:
                await self._work_on(key, handle, on_failure)
                if self._rest is not None:
                    await self._rest.after(began)
            finally:
                self._ready.done(namespace)
                # Besides the next key of this worker, another may have become free to be taken.
                self._wake_one()

    async def _work_on(self, key: KeyT, handle: Handle[KeyT], on_failure: OnFailure[KeyT]) -> None:
        self._waiting.discard(key)
        self._active.add(key)
        try:
            await handle(key)
        except Exception as error:
            self._active.discard(key)
            self._failed(key, error, on_failure)
        except BaseException:
            # Stopped half-way: not done, so it stays in the queue.
            self._active.discard(key)
            self.add(key)
            raise
        else:
            self._active.discard(key)
            self._failures.pop(key, None)
        if key in self._again:
            self._again.discard(key)
            self.add(key)
        if not (self._waiting or self._delayed or self._active):
            self._idle.set()

    async def _next(self) -> tuple[str, KeyT]:
        """The next key, with its namespace; waits for one if need be."""
        while (found := self._ready.take()) is None:
            waiter = asyncio.get_running_loop().create_future()
            self._sleeping.append(waiter)
            await waiter
        return found

    def _wake_one(self) -> None:
        """Have a worker look for a key."""
        while self._sleeping:
            waiter = self._sleeping.popleft()
            if not waiter.done():  # as it is when its worker was cancelled
                waiter.set_result(None)
                return

    def _failed(self, key: KeyT, error: Exception, on_failure: OnFailure[KeyT]) -> None:
        failures = self._failures.get(key) or _Failures(Backoff(self._shortest, self._longest))
        failures.count += 1
        if not on_failure(key, error, failures.count):
            self._failures.pop(key, None)
            return
        self._failures[key] = failures
        # A change that came in meanwhile waits as well: the pause protects the API server, not the key.
        self._again.discard(key)
        pause = failures.backoff.delay(at_least=error.retry_after if isinstance(error, RequestError) else 0.0)
        log.debug("will retry", queue=self.name, key=str(key), failures=failures.count, pause=pause, error=str(error))
        self.add(key, pause)
