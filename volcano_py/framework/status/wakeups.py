"""Times at which another cycle is due even if nothing in the cluster changes."""

from __future__ import annotations

import msgspec


class Wakeups(msgspec.Struct):
    """The earliest times that plugins and actions have asked for in this cycle, in seconds since the epoch; 0 for none.

    Attributes:
        next_progress: the cycle's own work continues then (the next eviction). A simulation runs until then.
        next_recheck: an answer changes then by the clock (a window opens). A simulation does not wait for it.
    """

    next_progress: float = 0.0
    next_recheck: float = 0.0

    def progress_at(self, time: float) -> None:
        self.next_progress = _earlier(self.next_progress, time)

    def recheck_at(self, time: float) -> None:
        self.next_recheck = _earlier(self.next_recheck, time)


def _earlier(known: float, time: float) -> float:
    return min(known, time) if known else time
