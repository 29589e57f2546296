"""What comes in: informers and watches."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry

from volcano_py.observe.metrics.definition import PREFIX, Definition, MetricKind

_SYNCED: Final = Definition(
    name=PREFIX + "informer_synced",
    kind=MetricKind.GAUGE,
    text="1 when the informer of this kind has its first complete list, else 0.",
    labels=("kind",),
)
_OBJECTS: Final = Definition(
    name=PREFIX + "informer_objects", kind=MetricKind.GAUGE, text="Objects the informer holds.", labels=("kind",)
)
_BEHIND: Final = Definition(
    name=PREFIX + "informer_behind_seconds",
    kind=MetricKind.GAUGE,
    text="Seconds since the watch of this kind was last open, or queues were listed without one; 0 while it is open. "
    "Above 2, decisions are paused.",
    labels=("kind",),
)
_RELISTS: Final = Definition(
    name=PREFIX + "informer_relists_total",
    kind=MetricKind.COUNTER,
    text="Complete lists after the first: the server no longer knew where a watch had ended, or the resync "
    "period was over.",
    labels=("kind",),
)
_BAD: Final = Definition(
    name=PREFIX + "informer_bad_objects_total",
    kind=MetricKind.COUNTER,
    text="Objects that could not be read and were left out; the log names each.",
    labels=("kind",),
)
_EVENTS: Final = Definition(
    name=PREFIX + "watch_events_total",
    kind=MetricKind.COUNTER,
    text="Watch events, bookmarks included.",
    labels=("kind",),
)
_LOADS: Final = Definition(
    name=PREFIX + "node_load_reads_total",
    kind=MetricKind.COUNTER,
    text="Requests for the load of nodes to the source under `metrics` in the configuration, by outcome: read, failed.",
    labels=("outcome",),
)
_LAST_LOAD: Final = Definition(
    name=PREFIX + "node_load_last_read_timestamp_seconds",
    kind=MetricKind.GAUGE,
    text="When the load of nodes was last read, in seconds since 1970. The plugin usage ignores a load that is older "
    "than five minutes.",
)

_EXTENDER: Final = Definition(
    name=PREFIX + "extender_request_seconds",
    kind=MetricKind.HISTOGRAM,
    text="How long requests to the extender took, by verb and outcome: answered (with 200, within the bounds), failed. "
    "What was not sent, because the extender is left alone after failures or the time of the cycle is used up, is not "
    "in it.",
    labels=("verb", "outcome"),
    buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
)

DEFINITIONS: Final = (_SYNCED, _OBJECTS, _BEHIND, _RELISTS, _BAD, _EVENTS, _LOADS, _LAST_LOAD, _EXTENDER)


class IntakeMetrics:
    """`kind` is the API's kind, such as Pod."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._synced = _SYNCED.gauge(registry)
        self._objects = _OBJECTS.gauge(registry)
        self._behind = _BEHIND.gauge(registry)
        self._relists = _RELISTS.counter(registry)
        self._bad = _BAD.counter(registry)
        self._events = _EVENTS.counter(registry)
        self._loads = _LOADS.counter(registry)
        self._last_load = _LAST_LOAD.gauge(registry)
        self._extender = _EXTENDER.histogram(registry)

    def extender_asked(self, verb: str, outcome: str, seconds: float) -> None:
        """May be called from any thread."""
        self._extender.labels(verb, outcome).observe(seconds)

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

    def behind(self, kind: str, seconds: float) -> None:
        self._behind.labels(kind).set(seconds)

    def relisted(self, kind: str, count: int = 1) -> None:
        self._relists.labels(kind).inc(count)

    def bad_object(self, kind: str) -> None:
        self._bad.labels(kind).inc()

    def watch_events(self, kind: str, count: int) -> None:
        self._events.labels(kind).inc(count)
