"""How often Python looks for garbage in cycles.

A daemon that knows 100,000 pods has millions of objects that live on, and by default every 700 new ones make Python
look through some of them: a fifth of the CPU of binding a backlog. Nearly all of our garbage goes by reference counts;
what is left (tasks, tracebacks) is small and may wait.
"""

from __future__ import annotations

import gc
from typing import Final

from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock

# New containers until the young ones are looked at; then how many such looks until the older and the oldest are.
THRESHOLDS: Final = (50_000, 20, 20)

# Cycles of objects that a cluster at rest makes are too few for the thresholds, and hold connections and whole answers
# of the API server meanwhile. Young ones are looked at so often (seconds),
_EVERY: Final = 60.0
# all of them so often, or seldom enough that it costs no more than this part of the time.
_THOROUGHLY_EVERY: Final = 600.0
_THOROUGH_PART: Final = 0.001


def collect_seldom() -> None:
    """To be called first: imports make more objects than anything else does at the start."""
    gc.set_threshold(*THRESHOLDS)


def keep_what_there_is() -> None:
    """What was loaded and listed is not looked at again. It is still freed when nothing refers to it."""
    gc.freeze()


async def collect_by_the_clock(clock: Clock = SYSTEM_CLOCK) -> None:
    """Until cancelled, beside what the thresholds do: a daemon with little to do never reaches them."""
    thoroughly_at = clock.monotonic() + _THOROUGHLY_EVERY
    while True:
        await clock.sleep(_EVERY)
        started = clock.monotonic()
        if started < thoroughly_at:
            gc.collect(1)
            continue
        gc.collect()
        ended = clock.monotonic()
        thoroughly_at = ended + max(_THOROUGHLY_EVERY, (ended - started) / _THOROUGH_PART)
