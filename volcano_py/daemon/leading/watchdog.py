"""Notices that the process hangs: its event loop does not answer, or a part reports that it is stuck.

It runs on another loop, in another thread. Time is counted in questions, not by the clock, so that a process that stood
still (SIGSTOP, a suspended machine) is not taken for one that hangs. One thing it cannot find is a call in C that does
not release the interpreter: no other thread runs then, this one included. In that case the Lease runs out, the fence
falls by the clock, and the kubelet's liveness probe ends the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock

LOOP_ANSWERS_WITHIN: Final = 30
"""Seconds. Nothing that one object can cause takes the loop for more than a fraction of a second; what takes longest is
the first list of a large cluster, some seconds."""

_EVERY: Final = 1.0  # seconds between two questions

Check = Callable[[], str | None]
"""Says what is stuck, or None; called in the watchdog's thread."""


class Watchdog:
    """Watches `loop`, and the parts that are added."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._loop, self._clock = loop, clock
        self._checks: list[Check] = []
        # Each is written by one thread only.
        self._asked = 0
        self._answered = 0

    def add(self, check: Check) -> None:
        self._checks.append(check)

    async def run(self) -> str:
        """Return what hangs, as soon as something does."""
        while True:
            self._asked += 1
            self._loop.call_soon_threadsafe(self._answer, self._asked)
            await self._clock.sleep(_EVERY)
            if self._asked - self._answered >= LOOP_ANSWERS_WITHIN:
                return f"the event loop has not answered for {LOOP_ANSWERS_WITHIN} s"
            for check in self._checks:
                if problem := check():
                    return problem

    def _answer(self, question: int) -> None:
        """On the watched loop."""
        self._answered = question
