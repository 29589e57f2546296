"""`volcano-py` whose event loop computes on a signal. To be run by `python -m`.

SIGUSR1: pure Python for `BLOCKED_SECONDS`. SIGUSR2: forever. The watchdog has `PATIENCE` instead of half a minute.
"""

from __future__ import annotations

import asyncio
import signal
import time

from volcano_py.cli.main import main
from volcano_py.daemon.leading import watchdog

BLOCKED_SECONDS = 15.0
"""Longer than the Lease of the tests lasts."""
COMPUTED = "the loop goes on"
PATIENCE = 20
"""Questions, one a second: longer than `BLOCKED_SECONDS`, shorter than half a minute."""


def compute(seconds: float) -> None:
    """Keep the loop from everything else."""
    end, steps = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        steps += sum(range(1000))  # no frame of a generator, which a stack from another thread may begin and end with
    print(COMPUTED, flush=True)  # noqa: T201 - into the log


class Blockable(watchdog.Watchdog):
    """Made on the loop that it watches."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        loop.add_signal_handler(signal.SIGUSR1, compute, BLOCKED_SECONDS)
        loop.add_signal_handler(signal.SIGUSR2, compute, float("inf"))


if __name__ == "__main__":
    watchdog.Watchdog = Blockable  # type: ignore[misc, assignment]
    watchdog.LOOP_ANSWERS_WITHIN = PATIENCE  # type: ignore[misc]
    main(prog_name="volcano-py")
