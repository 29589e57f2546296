"""How often Python looks for garbage in cycles, and how often free memory goes back to the system.

A daemon that knows 100,000 pods has millions of objects that live on, and by default every 700 new ones make Python
look through some of them: a fifth of the CPU of binding a backlog. Nearly all of our garbage goes by reference counts;
what is left (tasks, tracebacks) is small and may wait.

Freed memory does not leave the process by itself: objects that are still in use lie between large ones that are gone,
such as the 256 KiB read buffer of each TLS connection. glibc keeps such holes until it is asked to return them. Under
faults, with connections that break by the dozen, they were 12 of 150 MiB after ten minutes, and grew. A mapping of its
own for each large piece would have helped too, but made sums over ten thousand nodes five times as slow.

The end of the heap, on the other hand, would go back to the system with every cycle, which frees its arrays, and be
asked for again by the next one, page by page: a tenth of a cycle among 100,000 single pods. So glibc keeps some of it,
until it is asked to return it, too.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Final

from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock

# glibc's names for what `mallopt` sets, and bytes: free memory at the end of the heap that is kept, a few times what a
# large cycle takes; and the size from which on a piece has a mapping of its own, the largest that glibc takes.
_M_TRIM_THRESHOLD, _KEPT = -1, 64 << 20
_M_MMAP_THRESHOLD, _LARGE = -3, 32 << 20

# New containers until the young ones are looked at; then how many such looks until the older and the oldest are.
THRESHOLDS: Final = (50_000, 20, 20)

# Cycles of objects that a cluster at rest makes are too few for the thresholds, and hold connections and whole answers
# of the API server meanwhile; kopf leaves one with each version of an object that it watches. Memory that they fill
# before they are found is seldom free as a whole afterwards, because small objects that live on lie in between.
# So often (seconds) all are looked for, and what is free given back,
_EVERY: Final = 60.0
# or seldom enough that each of these costs no more than this part of the time; then the young ones are looked at.
_PART: Final = 0.001


def collect_seldom() -> None:
    """To be called first: most objects at the start come from imports."""
    gc.set_threshold(*THRESHOLDS)


def keep_what_there_is() -> None:
    """What was loaded and listed is not looked at again. It is still freed when nothing refers to it.

    Until then a daemon keeps the thresholds of `cli/main.py`: nearly all that is created is kept, and each look at
    100,000 containers takes 20 ms.
    """
    gc.freeze()
    collect_seldom()


def keep_for_the_next_cycle() -> None:
    """Let the C library keep the memory that a cycle frees, until `give_back`."""
    for parameter, size in ((_M_TRIM_THRESHOLD, _KEPT), (_M_MMAP_THRESHOLD, _LARGE)):
        _call_glibc("mallopt", parameter, size)


def give_back() -> None:
    """Return unused memory to the system, as far as the C library can. Each piece costs a system call, all
    of them some milliseconds in a small cluster, a tenth of a second where much has come and gone."""
    _call_glibc("malloc_trim", 0)


def _call_glibc(name: str, *arguments: int) -> None:
    """Other C libraries have no such functions, and are left alone."""
    import ctypes  # only the daemon needs it

    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)


async def collect_by_the_clock(
    clock: Clock = SYSTEM_CLOCK,
    *,
    collect: Callable[[], object] = gc.collect,
    afterwards: Callable[[], None] = give_back,
) -> None:
    """Collect until cancelled, in addition to the thresholds: an idle daemon never reaches them."""
    all_at = afterwards_at = 0.0
    while True:
        await clock.sleep(_EVERY)
        if clock.monotonic() >= all_at:
            all_at = _do(collect, clock)
        else:
            gc.collect(1)
        if clock.monotonic() >= afterwards_at:
            afterwards_at = _do(afterwards, clock)


def _do(work: Callable[[], object], clock: Clock) -> float:
    """Do it now; the time at which it may be done again."""
    started = clock.monotonic()
    work()
    ended = clock.monotonic()
    return ended + (ended - started) / _PART
