"""How often Python looks for garbage in cycles.

A daemon that knows 100,000 pods has millions of objects that live on, and by default every 700 new ones make Python
look through some of them: a fifth of the CPU of binding a backlog. Nearly all of our garbage goes by reference counts;
what is left (tasks, tracebacks) is small and may wait.
"""

from __future__ import annotations

import gc
from typing import Final

# New containers until the young ones are looked at; then how many such looks until the older and the oldest are.
THRESHOLDS: Final = (50_000, 20, 20)


def collect_seldom() -> None:
    """To be called first: imports make more objects than anything else does at the start."""
    gc.set_threshold(*THRESHOLDS)


def keep_what_there_is() -> None:
    """What was loaded and listed is not looked at again. It is still freed when nothing refers to it."""
    gc.freeze()
