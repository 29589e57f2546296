"""The process's own supervisor: runs the parts of the daemon, restarts those that may be, stops all in order.

Parts are coroutines that run until they are cancelled. Signals belong to the supervisor; other code that sets handlers
(kopf does) must give them back by calling `own_signals`.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable

import msgspec
import structlog

from volcano_py.cluster.kubernetes.backoff import Backoff

log = structlog.get_logger(__name__)

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class ChildFailedError(RuntimeError):
    """A part that the process cannot do without has ended; the cause is chained."""


class _Child(msgspec.Struct, frozen=True):
    name: str
    start: Callable[[], Awaitable[None]]
    restart: bool


class Supervisor:
    """Runs named children.

    `pause` and `longest_pause`: bounds in seconds of the wait before a restart, after one failure and after many.
    `healthy_after`: seconds after which a child counts as recovered, so that its next failure is answered quickly.
    `stop_timeout`: seconds that each child has to end when it is stopped.
    """

    def __init__(
        self,
        *,
        pause: float = 1.0,
        longest_pause: float = 30.0,
        healthy_after: float = 60.0,
        stop_timeout: float = 10.0,
    ) -> None:
        self._pause, self._longest_pause = pause, longest_pause
        self._healthy_after = healthy_after
        self._stop_timeout = stop_timeout
        self._children: list[_Child] = []
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._failure: ChildFailedError | None = None
        self.restarts: dict[str, int] = {}

    def add(self, name: str, start: Callable[[], Awaitable[None]], *, restart: bool = True) -> None:
        """A child. It starts in the order of addition and is stopped in the reverse order.

        `restart`: whether to start it again when it fails or returns; otherwise the process stops with an error.
        """
        self._children.append(_Child(name, start, restart))

    def stop(self, reason: str) -> None:
        """Begin to stop; `run` returns when all children have ended. A second call no longer waits for them."""
        if self._stopping.is_set():
            self._hurry.set()
            return
        log.info("stopping", reason=reason)
        self._stopping.set()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def own_signals(self) -> None:
        """SIGINT and SIGTERM stop this supervisor, instead of their former handlers. A second one stops without
        waiting.
        """
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.stop, f"received {number.name}")

    def release_signals(self) -> None:
        """Put the interpreter's own handling of the signals back."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)

    async def run(self) -> None:
        """Run all children until `stop` is called.

        Raises:
            ChildFailedError: a child that may not be restarted has ended; all others have been stopped.
        """
        tasks = [(child, asyncio.create_task(self._keep(child), name=child.name)) for child in self._children]
        try:
            await self._stopping.wait()
        finally:
            await self._stop_in_order(tasks)
        if self._failure is not None:
            raise self._failure

    async def _keep(self, child: _Child) -> None:
        loop = asyncio.get_running_loop()
        backoff = Backoff(self._pause, self._longest_pause)
        while True:
            started = loop.time()
            error: Exception | None = None
            try:
                await child.start()
            except Exception as raised:
                error = raised
            if self._stopping.is_set():
                if error is not None:
                    log.warning("component failed while stopping", component=child.name, error=repr(error))
                return
            if not child.restart:
                self._fail(child, error)
                return
            if loop.time() - started >= self._healthy_after:
                backoff.reset()
            self.restarts[child.name] = self.restarts.get(child.name, 0) + 1
            pause = backoff.delay()
            log.error("component ended; restarting it", component=child.name, pause=round(pause, 2), exc_info=error)
            await asyncio.sleep(pause)

    def _fail(self, child: _Child, error: Exception | None) -> None:
        ended = f"failed: {error}" if error is not None else "ended by itself"
        self._failure = ChildFailedError(f"{child.name} {ended}; the process cannot go on without it")
        self._failure.__cause__ = error
        self.stop(f"{child.name} has ended")

    async def _stop_in_order(self, tasks: list[tuple[_Child, asyncio.Task[None]]]) -> None:
        for child, task in reversed(tasks):
            task.cancel()
            if not await self._ended(task):
                log.warning("component did not stop in time", component=child.name, timeout=self._stop_timeout)

    async def _ended(self, task: asyncio.Task[None]) -> bool:
        """Wait for the end of a cancelled child: for the timeout at most, and not at all when in a hurry."""
        hurry = asyncio.create_task(self._hurry.wait())
        try:
            # asyncio.wait neither raises the child's error nor cancels it again.
            await asyncio.wait({task, hurry}, timeout=self._stop_timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hurry.cancel()
        return task.done()
