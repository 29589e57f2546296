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
        next_of_actions: the same of what was asked for while actions ran, and is not about one job alone. What is asked
            for at the beginning or the end of a cycle is asked for in every one; this may follow from what was tried.
        of_jobs: job row → the same about that job alone.
        are_acting: whether actions run.
    """

    next_progress: float = 0.0
    next_recheck: float = 0.0
    next_of_actions: float = 0.0
    of_jobs: dict[int, float] = msgspec.field(default_factory=dict)
    are_acting: bool = False

    def progress_at(self, time: float) -> None:
        self.next_progress = earlier(self.next_progress, time)

    def recheck_at(self, time: float, job: int | None = None) -> None:
        """`job`: the row of the only one that the answer is about."""
        self.next_recheck = earlier(self.next_recheck, time)
        if job is not None:
            self.of_jobs[job] = earlier(self.of_jobs.get(job, 0.0), time)
        elif self.are_acting:
            self.next_of_actions = earlier(self.next_of_actions, time)


def earliest(*times: float) -> float:
    """The earliest of the times that are not 0; 0 if all are."""
    return min(filter(None, times), default=0.0)


def earlier(known: float, time: float) -> float:
    """The earlier of two times; `known` may be 0, for none."""
    return min(known, time) if known else time
