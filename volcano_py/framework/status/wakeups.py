"""Times at which another cycle is due even if nothing in the cluster changes."""

from __future__ import annotations

from typing import Final

import msgspec

SOON: Final = 0.01
"""Seconds: just after a moment, such as the time of the cycle itself."""


class Wakeups(msgspec.Struct):
    """The earliest times that plugins and actions have asked for in this cycle, in seconds since the epoch; 0 for none.

    Attributes:
        next_progress: the cycle's own work continues then (the next eviction). A simulation runs until then.
        next_recheck: an answer changes then by the clock (a window opens). A simulation does not wait for it.
    """

    next_progress: float = 0.0
    next_recheck: float = 0.0

    def progress_at(self, time: float) -> None:
        self.next_progress = earlier(self.next_progress, time)

    def recheck_at(self, time: float) -> None:
        self.next_recheck = earlier(self.next_recheck, time)


def earlier(known: float, time: float) -> float:
    """The earlier of two times; `known` may be 0, for none."""
    return min(known, time) if known else time
