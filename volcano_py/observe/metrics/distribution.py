"""How often a value fell into which bucket, counted once however many histograms it is shown as.

The library's own histogram looks through the bounds in Python and takes a lock for each of two sums; every binding is
counted in four durations, each of them under Volcano's name and in the base unit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.utils import floatToGoString

from volcano_py.observe.metrics.definition import Definition


class Distribution:
    """A collector of histograms. `also` are further views of the same values: a definition, and by how much its unit is
    smaller; its bounds are those of `definition` times that, and its labels take the same values."""

    def __init__(
        self, registry: CollectorRegistry, definition: Definition, also: Iterable[tuple[Definition, float]] = ()
    ) -> None:
        self._bounds = definition.buckets
        self._views = ((definition, 1.0), *also)
        self._counts: dict[tuple[str, ...], list[int]] = {}  # by label values; the last is what is above all bounds
        self._sums: dict[tuple[str, ...], float] = {}
        if not definition.labels:
            self._begin(())
        registry.register(self)

    def observe(self, value: float, *labels: str) -> None:
        """`value` in the unit of `definition`, label values in its order."""
        counts = self._counts.get(labels)
        if counts is None:
            counts = self._begin(labels)
        counts[bisect_left(self._bounds, value)] += 1
        self._sums[labels] += value

    def describe(self) -> Iterable[Metric]:
        return [_family(definition) for definition, _ in self._views]

    def collect(self) -> Iterator[Metric]:
        counts, sums = {labels: tuple(each) for labels, each in self._counts.items()}, self._sums.copy()
        for definition, factor in self._views:
            names = [*map(floatToGoString, definition.buckets), "+Inf"]
            family = _family(definition)
            for labels, each in counts.items():
                cumulative = map(float, accumulate(each))
                family.add_metric(labels, list(zip(names, cumulative, strict=True)), sums[labels] * factor)
            yield family

    def _begin(self, labels: tuple[str, ...]) -> list[int]:
        self._sums[labels] = 0.0
        counts = self._counts[labels] = [0] * (len(self._bounds) + 1)
        return counts


def _family(definition: Definition) -> HistogramMetricFamily:
    return HistogramMetricFamily(definition.name, definition.text, labels=definition.labels)
