"""What comes in: informers and watches."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter

from volcano_py.observe.metrics.definition import PREFIX, Definition, Kind

_SYNCED: Final = Definition(
    name=PREFIX + "informer_synced",
    kind=Kind.GAUGE,
    text="1 when the informer of this kind has its first complete list, else 0.",
    labels=("kind",),
)
_OBJECTS: Final = Definition(
    name=PREFIX + "informer_objects", kind=Kind.GAUGE, text="Objects the informer holds.", labels=("kind",)
)
_RELISTS: Final = Definition(
    name=PREFIX + "informer_relists_total",
    kind=Kind.COUNTER,
    text="Complete lists after the first, by cause: expired (410), stalled (no bookmark in time), error.",
    labels=("kind", "cause"),
)
_BAD: Final = Definition(
    name=PREFIX + "informer_bad_objects_total",
    kind=Kind.COUNTER,
    text="Objects that could not be read and were left out; the log names each.",
    labels=("kind",),
)
_EVENTS: Final = Definition(
    name=PREFIX + "watch_events_total",
    kind=Kind.COUNTER,
    text="Watch events by kind and type (ADDED, MODIFIED, DELETED, BOOKMARK, ERROR).",
    labels=("kind", "type"),
)
_LOADS: Final = Definition(
    name=PREFIX + "node_load_reads_total",
    kind=Kind.COUNTER,
    text="Times the load of nodes was asked for where `metrics` of the configuration says, by outcome: read, failed.",
    labels=("outcome",),
)
_LAST_LOAD: Final = Definition(
    name=PREFIX + "node_load_last_read_timestamp_seconds",
    kind=Kind.GAUGE,
    text="When the load of nodes was last read, in seconds since 1970. The plugin usage heeds none that is older than "
    "five minutes.",
)

DEFINITIONS: Final = (_SYNCED, _OBJECTS, _RELISTS, _BAD, _EVENTS, _LOADS, _LAST_LOAD)


class IntakeMetrics:
    """`kind` is the API's kind, such as Pod."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._synced = _SYNCED.gauge(registry)
        self._objects = _OBJECTS.gauge(registry)
        self._relists = _RELISTS.counter(registry)
        self._bad = _BAD.counter(registry)
        self._events = _EVENTS.counter(registry)
        # One lookup of a child for each watch event would cost more than counting it.
        self._event_counters: dict[tuple[str, str], Counter] = {}
        self._loads = _LOADS.counter(registry)
        self._last_load = _LAST_LOAD.gauge(registry)

    def load_read(self, moment: float) -> None:
        """`moment` in seconds since 1970."""
        self._loads.labels("read").inc()
        self._last_load.set(moment)

    def load_failed(self) -> None:
        self._loads.labels("failed").inc()

    def synced(self, kind: str, is_synced: bool) -> None:
        self._synced.labels(kind).set(is_synced)

    def objects(self, kind: str, count: int) -> None:
        self._objects.labels(kind).set(count)

    def relisted(self, kind: str, cause: str) -> None:
        self._relists.labels(kind, cause).inc()

    def bad_object(self, kind: str) -> None:
        self._bad.labels(kind).inc()

    def watch_event(self, kind: str, event_type: str, count: int = 1) -> None:
        counter = self._event_counters.get((kind, event_type))
        if counter is None:
            counter = self._event_counters[kind, event_type] = self._events.labels(kind, event_type)
        counter.inc(count)
