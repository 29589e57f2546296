"""The numbers of a reflector, for metrics and for whoever looks for trouble."""

from __future__ import annotations

import msgspec


class ReflectorStats(msgspec.Struct, frozen=True):
    """What a reflector has seen since it started; `silent_for` is in seconds."""

    objects: int
    unreadable: int
    lists: int
    watches: int
    events: int
    stale_events: int
    failures: int
    silent_for: float
