"""Admission webhooks: reviews, their outcomes and durations."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry

from volcano_py.observe.metrics.definition import PREFIX, Definition, MetricKind, exponential

_REVIEWS: Final = Definition(
    name=PREFIX + "admission_reviews_total",
    kind=MetricKind.COUNTER,
    text="Reviews by outcome: allowed, refused, failed (could not be checked).",
    labels=("webhook", "operation", "outcome"),
)
_SECONDS: Final = Definition(
    name=PREFIX + "admission_review_seconds",
    kind=MetricKind.HISTOGRAM,
    text="How long a review took; the API server waits ten seconds.",
    labels=("webhook",),
    buckets=exponential(0.001, 4, 7),
)
_EXPIRY: Final = Definition(
    name=PREFIX + "admission_certificate_expiry_timestamp_seconds",
    kind=MetricKind.GAUGE,
    text="When the certificate served to the API server expires, in seconds since 1970; 0 without webhooks.",
)

_TURNED_AWAY: Final = Definition(
    name=PREFIX + "admission_turned_away_total",
    kind=MetricKind.COUNTER,
    text="Callers of the webhook port that got an error, by HTTP status; 0: they were cut off without an answer.",
    labels=("status",),
)

DEFINITIONS: Final = (_REVIEWS, _SECONDS, _EXPIRY, _TURNED_AWAY)


class AdmissionMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._reviews = _REVIEWS.counter(registry)
        self._seconds = _SECONDS.histogram(registry)
        self._expiry = _EXPIRY.gauge(registry)
        self._turned_away = _TURNED_AWAY.counter(registry)

    def reviewed(self, webhook: str, operation: str, outcome: str, seconds: float) -> None:
        """A review was answered."""
        self._reviews.labels(webhook, operation, outcome).inc()
        self._seconds.labels(webhook).observe(seconds)

    def certificate_expires(self, when: float) -> None:
        """`when` in seconds since 1970."""
        self._expiry.set(when)

    def turned_away(self, status: int | str, count: int = 1) -> None:
        """Callers got an error, or 0: no answer at all."""
        self._turned_away.labels(str(status)).inc(count)
