"""Outcomes of decisions: attempts, binds, evictions, preemptions, events, and how much waits to be written."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from prometheus_client import CollectorRegistry

from volcano_py.observe.metrics.definition import PREFIX, Alias, Definition, MetricKind, exponential


class Outcome(StrEnum):
    """How the API server answered a request."""

    DONE = "done"
    CONFLICT = "conflict"
    """Another writer was first: 409, or a UID or version other than the one the decision was based on."""
    GONE = "gone"
    """The object exists no more: 404."""
    REFUSED = "refused"
    """Any other refusal that a retry would not change: 4xx."""
    FAILED = "failed"
    """The server or the network failed, or time ran out, after all retries."""


# 1 ms to 33 s: a binding takes a few milliseconds on a quiet API server and seconds on a throttled one.
_REQUEST_SECONDS: Final = exponential(0.001, 2, 16)

_ATTEMPTS: Final = Definition(
    name=PREFIX + "schedule_attempts_total",
    kind=MetricKind.COUNTER,
    text="Attempts to schedule pods: scheduled (bound), unschedulable (no place in a cycle), error (the bind failed).",
    labels=("result",),
    is_volcano=True,
)
_DECISIONS: Final = Definition(
    name=PREFIX + "decisions_total",
    kind=MetricKind.COUNTER,
    text="What cycles decided for pods: bind, evict or pipeline (a place where others are terminating).",
    labels=("decision",),
)
_BINDS: Final = Definition(
    name=PREFIX + "binds_total",
    kind=MetricKind.COUNTER,
    text="Bindings by outcome.",
    labels=("outcome",),
)
_BIND_DURATION: Final = Definition(
    name=PREFIX + "bind_duration_seconds",
    kind=MetricKind.HISTOGRAM,
    text="From sending a binding to its final outcome, retries included, in seconds.",
    buckets=_REQUEST_SECONDS,
)
_EVICTIONS: Final = Definition(
    name=PREFIX + "evictions_total",
    kind=MetricKind.COUNTER,
    text="Evictions by action and by outcome.",
    labels=("action", "outcome"),
)
# The actions that Volcano counts; evictions of shuffle follow no plan for a pod.
_PREEMPTING: Final = ("preempt", "gangpreempt")
_TRANSACTING: Final = ("preempt", "reclaim", "gangpreempt", "gangreclaim")
_EVICTING: Final = (*_TRANSACTING, "shuffle")
_TRANSACTIONS: Final = Definition(
    name=PREFIX + "eviction_transactions_total",
    kind=MetricKind.COUNTER,
    text=f"Plans with evictions that were carried out, by action: {', '.join(_TRANSACTING)}.",
    labels=("action",),
    is_volcano=True,
)
_VICTIMS: Final = Definition(
    name=PREFIX + "pod_preemption_victims",
    kind=MetricKind.GAUGE,
    text="Victims selected by the last preemption.",
    is_volcano=True,
)
_PREEMPTIONS: Final = Definition(
    name=PREFIX + "preemption_attempts_total",
    kind=MetricKind.COUNTER,
    text="Preemptions for which victims were found and evicted.",
)
_PREEMPTIONS_VOLCANO: Final = Definition(
    name=PREFIX + "total_preemption_attempts",
    kind=MetricKind.UNTYPED,
    text=f"The same as {_PREEMPTIONS.name}, under Volcano's name.",
    is_volcano=True,
)
_REQUESTS: Final = Definition(
    name=PREFIX + "api_requests_total",
    kind=MetricKind.COUNTER,
    text="Requests to the API server by HTTP verb (WATCH: one that opens a watch) and by status, without those of the "
    "Lease, of kopf and of the admission process; 0: there was no answer.",
    labels=("verb", "status"),
)
_DEPTH: Final = Definition(
    name=PREFIX + "effects_queue_depth",
    kind=MetricKind.GAUGE,
    text="Effects that were decided and wait to be written, by kind (bind, evict, status, event).",
    labels=("kind",),
)
_IN_FLIGHT: Final = Definition(
    name=PREFIX + "goroutines",
    kind=MetricKind.GAUGE,
    text="Requests under way, by operation such as binding. Here they are asyncio tasks; the name is Volcano's.",
    labels=("operation",),
    is_volcano=True,
)
_EVENTS: Final = Definition(
    name=PREFIX + "events_emitted_total",
    kind=MetricKind.COUNTER,
    text="Kubernetes Events written, by type (Normal, Warning).",
    labels=("type",),
)
_EVENTS_DROPPED: Final = Definition(
    name=PREFIX + "events_dropped_total",
    kind=MetricKind.COUNTER,
    text="Kubernetes Events that did not become objects of their own, by reason: repeated (counted in the one before), "
    "superseded (the reason changed before it was written), throttled (too many about one object), "
    "queue full (too many waiting), failed (refused).",
    labels=("reason",),
)

DEFINITIONS: Final = (
    _ATTEMPTS,
    _DECISIONS,
    _BINDS,
    _BIND_DURATION,
    _EVICTIONS,
    _TRANSACTIONS,
    _VICTIMS,
    _PREEMPTIONS,
    _PREEMPTIONS_VOLCANO,
    _REQUESTS,
    _DEPTH,
    _IN_FLIGHT,
    _EVENTS,
    _EVENTS_DROPPED,
)


class EffectMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        attempts = _ATTEMPTS.counter(registry)
        self._scheduled = attempts.labels("scheduled")
        self._unschedulable = attempts.labels("unschedulable")
        self._errors = attempts.labels("error")
        decisions = _DECISIONS.counter(registry)
        self._decided = {name: decisions.labels(name) for name in ("bind", "evict", "pipeline")}
        binds = _BINDS.counter(registry)
        self._binds = {outcome: binds.labels(outcome.value) for outcome in Outcome}
        self._bind_duration = _BIND_DURATION.histogram(registry)
        self._evictions = _EVICTIONS.counter(registry)
        for action in _EVICTING:  # so that increase() sees the first one
            self._evictions.labels(action, Outcome.DONE.value)
        self._transactions = _TRANSACTIONS.counter(registry)
        self._requests = _REQUESTS.counter(registry)
        self._victims = _VICTIMS.gauge(registry)
        self._preemptions = _PREEMPTIONS.counter(registry)
        registry.register(Alias(_PREEMPTIONS_VOLCANO, self._preemptions))
        self._depth = _DEPTH.gauge(registry)
        self._in_flight = _IN_FLIGHT.gauge(registry)
        self._events = _EVENTS.counter(registry)
        self._events_dropped = _EVENTS_DROPPED.counter(registry)

    def decided(self, *, binds: int, evictions: int, pipelined: int, unschedulable: int) -> None:
        """What one cycle decided, and how many pods found no place in it."""
        for name, count in (("bind", binds), ("evict", evictions), ("pipeline", pipelined)):
            self._decided[name].inc(count)
        self._unschedulable.inc(unschedulable)

    def bound(self, outcome: Outcome, seconds: float) -> None:
        """A binding has its final outcome, `seconds` after it was first sent."""
        self._binds[outcome].inc()
        self._bind_duration.observe(seconds)
        if outcome is Outcome.DONE:
            self._scheduled.inc()
        elif outcome is not Outcome.GONE:  # a pod deleted meanwhile is no error
            self._errors.inc()

    def evicted(self, action: str, outcome: Outcome) -> None:
        self._evictions.labels(action, outcome.value).inc()

    def evictions_committed(self, action: str, victims: int) -> None:
        """A plan with this many evictions is carried out as a whole."""
        if action in _TRANSACTING:
            self._transactions.labels(action).inc()
        if action in _PREEMPTING:
            self._preemptions.inc()
            self._victims.set(victims)

    def requested(self, verb: str, status: int, count: int) -> None:
        """So many requests have got this answer, or none (0)."""
        self._requests.labels(verb, str(status)).inc(count)

    def queue_depth(self, kind: str, depth: int) -> None:
        self._depth.labels(kind).set(depth)

    def in_flight(self, operation: str, count: int) -> None:
        self._in_flight.labels(operation).set(count)

    def events_emitted(self, event_type: str, count: int) -> None:
        self._events.labels(event_type).inc(count)

    def events_dropped(self, reason: str, count: int = 1) -> None:
        self._events_dropped.labels(reason).inc(count)
