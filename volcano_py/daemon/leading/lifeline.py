"""A thread with an event loop of its own for what a long computation must not delay: the Lease, and the watchdog.

A computation in Python that holds the main loop, or a cycle in its thread, gives the interpreter up every half of a
millisecond (`SWITCH_INTERVAL`), so the Lease is renewed nevertheless. A renewed Lease must not hide a process that
hangs, so the watchdog is in the same thread. When it finds something, the process stops leading, logs where it hangs,
gives the Lease back and ends.

/healthz is not served from here. If the main loop hangs, the silence of /healthz is the signal: a server that still
answers could only repeat what the watchdog has found, and by then the process is about to end.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

import structlog
import uvloop

from volcano_py.daemon.leading.election import Election
from volcano_py.daemon.leading.watchdog import Watchdog
from volcano_py.daemon.options import DaemonOptions

log = structlog.get_logger(__name__)

SETTLE: Final = 2.0
"""Seconds between the end of a hanging leader's leadership and the moment at which it gives the Lease back: what it has
sent is then answered, and seen by the successor's lists."""

_LOG_WITHIN: Final = 2.0  # seconds; the process may hang because its log is not read
_GIVE_BACK_WITHIN: Final = 10.0  # seconds, for a renewal under way, `SETTLE` and two requests
_STOP_WITHIN: Final = 10.0  # seconds


class Lifeline:
    """The thread runs inside the block; `election` is None without election. To be made on the main loop."""

    def __init__(self, options: DaemonOptions, *, end: Callable[[int], object] = os._exit) -> None:
        """`end` ends the process at once, without waiting for its other threads."""
        self.election = Election(options) if options.election.enabled else None
        self.watchdog = Watchdog(asyncio.get_running_loop())
        self._end = end
        self._loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="lifeline", daemon=True)

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call(self._stop.set)
        await asyncio.to_thread(self._thread.join, _STOP_WITHIN)

    async def give_back(self) -> None:
        """Give the Lease back; returns when that is done, or has failed."""
        assert self.election is not None
        self._call(self.election.stop)
        await self.election.over.wait()

    def _call(self, function: Callable[[], object]) -> None:
        """In the thread; nothing, if it has ended."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function)

    # -- in the thread -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._live())

    async def _live(self) -> None:
        async with asyncio.TaskGroup() as group:
            campaign = group.create_task(self._campaign(), name="election")
            watching = group.create_task(self.watchdog.run(), name="watchdog")
            stopped = group.create_task(self._stop.wait(), name="end of the lifeline")
            await asyncio.wait((watching, stopped), return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                await self._end_process(watching.result(), campaign)
            if self.election is not None:
                self.election.stop()
            watching.cancel()
            stopped.cancel()

    async def _campaign(self) -> None:
        if self.election is None:
            return
        try:
            await self.election.run()
        except Exception:
            # A bug of ours; the part that waits for the end of the campaign ends the process.
            log.exception("leader election failed")

    async def _end_process(self, problem: str, campaign: asyncio.Task[None]) -> None:
        if self.election is not None:
            self.election.stop(SETTLE)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LOG_WITHIN):
                await asyncio.to_thread(_report, problem)
        await asyncio.wait((campaign,), timeout=_GIVE_BACK_WITHIN)
        self._end(1)


def _report(problem: str) -> None:
    log.critical("process hangs; ending it", problem=problem, stacks=_stacks())


def _stacks() -> dict[str, list[str]]:
    """Where each other thread is, by its name."""
    frames = sys._current_frames()
    others = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]
    return {
        thread.name: [line.rstrip() for line in traceback.format_stack(frames[thread.ident])]
        for thread in others
        if thread.ident in frames
    }
