"""How often a value fell into which bucket, counted once however many histograms it is shown as.

The library's own histogram looks through the bounds in Python and takes a lock for each of two sums; every binding is
counted in four durations, each of them under Volcano's name and in the base unit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from math import isclose

from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.utils import floatToGoString

from volcano_py.observe.metrics.definition import Definition


class Distribution:
    """A collector of histograms. One thread counts; another one may collect meanwhile."""

    def __init__(
        self, registry: CollectorRegistry, definition: Definition, also: Iterable[tuple[Definition, float]] = ()
    ) -> None:
        """`also` are further views of the same values: a definition, and by how much its unit is smaller.

        Raises:
            ValueError: bounds do not ascend, or a view has others than its unit makes of them, or another number of
                labels.
        """
        if list(definition.buckets) != sorted(set(definition.buckets)):
            raise ValueError(f"the bounds of {definition.name} do not ascend")
        self._bounds = definition.buckets
        self._views = ((definition, 1.0), *also)
        for view, factor in self._views:
            _check(view, definition, factor)
        self._counts: dict[tuple[str, ...], list[int]] = {}  # by label values; the last is what is above all bounds
        self._sums: dict[tuple[str, ...], float] = {}
        if not definition.labels:
            self._begin(())
        registry.register(self)

    def observe(self, value: float, *labels: str) -> None:
        """`value` in the unit of `definition`, label values in its order.

        Raises:
            ValueError: not as many label values as labels.
        """
        counts = self._counts.get(labels)
        if counts is None:
            counts = self._begin(labels)
        counts[bisect_left(self._bounds, value)] += 1
        self._sums[labels] += value

    def describe(self) -> Iterable[Metric]:
        return [_family(definition) for definition, _ in self._views]

    def collect(self) -> Iterator[Metric]:
        # Each copied in one step, as new label values may come meanwhile; whose counts are there has a sum already.
        counts, sums = self._counts.copy(), self._sums.copy()
        for definition, factor in self._views:
            names = [*map(floatToGoString, definition.buckets), "+Inf"]
            family = _family(definition)
            for labels, each in counts.items():
                cumulative = map(float, accumulate(tuple(each)))
                family.add_metric(labels, list(zip(names, cumulative, strict=True)), sums[labels] * factor)
            yield family

    def _begin(self, labels: tuple[str, ...]) -> list[int]:
        definition, _ = self._views[0]
        if len(labels) != len(definition.labels):
            raise ValueError(f"{definition.name} has the labels {definition.labels}, not as many as {labels}")
        self._sums[labels] = 0.0
        counts = self._counts[labels] = [0] * (len(self._bounds) + 1)
        return counts


def _check(view: Definition, definition: Definition, factor: float) -> None:
    same = len(view.buckets) == len(definition.buckets) and all(
        isclose(bound * factor, its) for bound, its in zip(definition.buckets, view.buckets, strict=True)
    )
    if not same:
        raise ValueError(f"the bounds of {view.name} are not those of {definition.name} times {factor:g}")
    if len(view.labels) != len(definition.labels):
        raise ValueError(f"{view.name} has the labels {view.labels}, {definition.name} {definition.labels}")


def _family(definition: Definition) -> HistogramMetricFamily:
    return HistogramMetricFamily(definition.name, definition.text, labels=definition.labels)
