"""The numbers of a reflector, for metrics and for debugging."""

from __future__ import annotations

import msgspec


class ReflectorStats(msgspec.Struct, frozen=True):
    """What a reflector has seen since it started; `behind` (see `Reflector`) and `silent_for` are in seconds."""

    objects: int
    unreadable: int
    lists: int
    watches: int
    events: int
    stale_events: int
    failures: int
    behind: float
    silent_for: float
