"""A metric as a value: instruments, the scrape and the reference page are all made from it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import Metric

PREFIX: Final = "volcano_"
_TOTAL: Final = "_total"


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    UNTYPED = "unknown"
    """A counter whose name in Volcano lacks `_total`. The exposition format allows counters no other ending, so the
    name is kept and the type is not exposed; `rate()` works all the same."""


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """One metric. `name` is whole; `text` is its help, one sentence; `buckets` are upper bounds in its unit."""

    name: str
    kind: MetricKind
    text: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    is_volcano: bool = False
    """Volcano has it under this very name with these labels."""
    is_per_job: bool = False
    """A series for each job: only with per-job metrics switched on."""

    def counter(self, registry: CollectorRegistry) -> Counter:
        return Counter(self.name, self.text, self.labels, registry=registry)

    def gauge(self, registry: CollectorRegistry) -> Gauge:
        return Gauge(self.name, self.text, self.labels, registry=registry)

    def histogram(self, registry: CollectorRegistry) -> Histogram:
        return Histogram(self.name, self.text, self.labels, registry=registry, buckets=self.buckets)

    def family(self) -> Family:
        """An empty family, for collectors that work their samples out at scrape time."""
        return Family(self)


class Family(Metric):
    """Samples of one definition, collected at scrape time."""

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition.name.removesuffix(_TOTAL), definition.text, definition.kind.value)
        self._sample_name = definition.name
        self._labels = definition.labels

    def add(self, value: float, *labels: str) -> None:
        """One sample; label values in the order of the definition."""
        self.add_sample(self._sample_name, dict(zip(self._labels, labels, strict=True)), value)


class Alias:
    """The values of a counter under a second name, one that does not end in `_total`."""

    def __init__(self, definition: Definition, source: Counter) -> None:
        self._definition = definition
        self._source = source

    def describe(self) -> Iterable[Metric]:
        return [self._definition.family()]

    def collect(self) -> Iterable[Metric]:
        family = self._definition.family()
        for metric in self._source.collect():
            for sample in metric.samples:
                if sample.name.endswith(_TOTAL):
                    family.add(sample.value, *(sample.labels[label] for label in self._definition.labels))
        return [family]


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """`count` bounds, each `factor` times the one before."""
    return tuple(start * factor**step for step in range(count))
