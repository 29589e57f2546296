"""Moments at which time alone makes another cycle worth while."""

from __future__ import annotations

import msgspec


class Moments(msgspec.Struct):
    """The earliest of each kind that plugins have asked for in this cycle, seconds since the epoch; 0 for none.

    Attributes:
        goes_on_at: something in hand goes on then (the next eviction). A simulation runs until then.
        strikes_at: an answer changes then, because a window opens, say. A simulation does not wait for it.
    """

    goes_on_at: float = 0.0
    strikes_at: float = 0.0

    def go_on(self, moment: float) -> None:
        self.goes_on_at = _earlier(self.goes_on_at, moment)

    def strike(self, moment: float) -> None:
        self.strikes_at = _earlier(self.strikes_at, moment)


def _earlier(known: float, moment: float) -> float:
    return min(known, moment) if known else moment
