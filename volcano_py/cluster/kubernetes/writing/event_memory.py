"""Which events were written about which object: repetitions are counted, and events about one object are limited."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec

from volcano_py.api.effects import ObjectRef
from volcano_py.cluster.kubernetes.clock import Clock
from volcano_py.cluster.kubernetes.http.ratelimit import TokenBucket

V = TypeVar("V")

# One object, as client-go limits its recorders: 25 at once, then one in five minutes.
OBJECT_RATE: Final = 1 / 300
OBJECT_BURST: Final = 25
OBJECT_REMEMBERED: Final = 1 / OBJECT_RATE
"""Seconds without an event about an object after which its limit starts again."""
WINDOW: Final = 600.0
"""Seconds after its last repetition for which an event is counted, as in client-go; then it is a new event."""
_REMEMBERED: Final = 4096  # events and objects, as in client-go
# Deleted objects are forgotten in batches of so many, with one pass over everything remembered.
_GONE_AT_ONCE: Final = 256

EventKey = tuple[ObjectRef, str, str, str]
"""Object, type, reason, message."""


class EventSeries(msgspec.Struct):
    """One event object and what to write into it. `written` is the count on the server, 0 before it exists there;
    `action` and `related` are as in `Event`."""

    key: EventKey
    name: str
    first: datetime
    last: datetime
    last_seen: float
    count: int = 1
    written: int = 0
    written_at: float = 0.0
    queued_at: float = 0.0
    queued: bool = False
    writing: bool = False
    """A request about it is under way."""
    action: str = ""
    related: ObjectRef | None = None

    @property
    def is_written(self) -> bool:
        """Whether the server has the latest count."""
        return self.count == self.written


class EventMemory:
    """Bounded in number and in time. Iterating gives the series, the one that was repeated last at the end."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._series: OrderedDict[EventKey, EventSeries] = OrderedDict()
        self._buckets: OrderedDict[ObjectRef, TokenBucket] = OrderedDict()
        self._gone: set[ObjectRef] = set()
        self._sweep_at = _GONE_AT_ONCE
        """The number of objects in `_gone` at which they are forgotten."""

    def __iter__(self) -> Iterator[EventSeries]:
        return iter(self._series.values())

    def count(self, key: EventKey) -> bool:
        """Count this event in its series. False when there is none."""
        series, now = self._series.get(key), self._clock.monotonic()
        if series is None or now - series.last_seen >= WINDOW:
            return False
        series.count += 1
        series.last, series.last_seen = self._clock.now(), now
        self._series.move_to_end(key)
        return True

    def remember(self, series: EventSeries) -> None:
        """It is the latest; those too old or too many are forgotten."""
        self._series[series.key] = series
        self._series.move_to_end(series.key)
        while len(self._series) > _REMEMBERED or series.last_seen - _first(self._series).last_seen >= WINDOW:
            self._series.popitem(last=False)

    def forget(self, series: EventSeries) -> None:
        """A repetition will be written as an event of its own."""
        if self._series.get(series.key) is series:
            del self._series[series.key]

    def forget_object(self, about: ObjectRef) -> None:
        """The object is gone: there will be few events about it. Takes effect once `_GONE_AT_ONCE` objects are gone;
        what is still to be written is kept until then."""
        self._gone.add(about)
        if len(self._gone) < self._sweep_at:
            return
        kept: set[ObjectRef] = set()
        for series in [series for series in self if series.key[0] in self._gone]:
            if series.is_written:
                del self._series[series.key]
            else:
                kept.add(series.key[0])
        for each in self._gone:
            self._buckets.pop(each, None)
        self._gone, self._sweep_at = kept, len(kept) + _GONE_AT_ONCE

    def may_report(self, about: ObjectRef) -> bool:
        """Whether another event about the object is within its limit; it then counts."""
        now = self._clock.monotonic()
        while self._buckets and now - _first(self._buckets).last_asked >= OBJECT_REMEMBERED:
            self._buckets.popitem(last=False)
        bucket = self._buckets.get(about)
        if bucket is None:
            bucket = self._buckets[about] = TokenBucket(OBJECT_RATE, OBJECT_BURST, self._clock)
        self._buckets.move_to_end(about)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return bucket.try_take()


def _first(of: OrderedDict[Any, V]) -> V:
    return next(iter(of.values()))
