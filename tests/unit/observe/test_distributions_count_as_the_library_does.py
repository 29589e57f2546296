"""A distribution shows what the library's own histogram would, and the same in another unit."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from volcano_py.observe.metrics import Definition, Kind
from volcano_py.observe.metrics.distribution import Distribution

BOUNDS = (0.001, 0.25, 1.0, 64.0)
VALUES = st.lists(st.sampled_from([0.0, *BOUNDS, 65.0]) | st.floats(0, 100), max_size=20)


def definition(name: str, *labels: str, factor: float = 1.0) -> Definition:
    bounds = tuple(bound * factor for bound in BOUNDS)
    return Definition(name=name, kind=Kind.HISTOGRAM, text="How long.", labels=labels, buckets=bounds)


def lines(registry: CollectorRegistry, name: str) -> list[str]:
    text = generate_latest(registry).decode()
    return [line for line in text.splitlines() if f"{name}_created" not in line]


@given(VALUES)
def test_values_fall_into_the_same_buckets(values: Sequence[float]) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    distribution = Distribution(ours, definition("took"))
    histogram = Histogram("took", "How long.", registry=theirs, buckets=BOUNDS)
    for value in values:
        distribution.observe(value)
        histogram.observe(value)
    assert lines(ours, "took") == lines(theirs, "took")


def test_each_set_of_label_values_is_counted_by_itself() -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    distribution = Distribution(ours, definition("took", "stage", "queue"))
    histogram = Histogram("took", "How long.", ("stage", "queue"), registry=theirs, buckets=BOUNDS)
    assert lines(ours, "took") == lines(theirs, "took"), "nothing until something is counted"
    for value, labels in [(0.5, ("Bind", "a")), (2.0, ("Bind", 'b"')), (0.5, ("Bind", "a"))]:
        distribution.observe(value, *labels)
        histogram.labels(*labels).observe(value)
    assert lines(ours, "took") == lines(theirs, "took")


def test_another_view_is_the_same_in_its_own_unit_and_words() -> None:
    registry = CollectorRegistry()
    milli = definition("took_ms", "OnSession", factor=1000)
    distribution = Distribution(registry, definition("took", "point"), [(milli, 1000.0)])
    distribution.observe(0.25, "Open")
    assert registry.get_sample_value("took_ms_bucket", {"OnSession": "Open", "le": "1.0"}) == 0
    assert registry.get_sample_value("took_ms_bucket", {"OnSession": "Open", "le": "250.0"}) == 1
    assert registry.get_sample_value("took_bucket", {"point": "Open", "le": "0.25"}) == 1
    assert registry.get_sample_value("took_ms_sum", {"OnSession": "Open"}) == 250
    assert registry.get_sample_value("took_sum", {"point": "Open"}) == 0.25


@pytest.mark.parametrize("labels", [(), ("Bind",), ("Bind", "a", "b")], ids=["none", "too few", "too many"])
def test_as_many_label_values_as_labels_are_needed(labels: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="took has the labels"):
        Distribution(CollectorRegistry(), definition("took", "stage", "queue")).observe(1.0, *labels)


@pytest.mark.parametrize(
    ("view", "complaint"),
    [
        (definition("took_ms", factor=100), "bounds of took_ms are not those of took times 1000"),
        (msgspec.structs.replace(definition("took_ms", factor=1000), buckets=(1.0,)), "bounds of took_ms"),
        (definition("took_ms", "stage", factor=1000), "labels"),
    ],
    ids=["another unit", "fewer bounds", "more labels"],
)
def test_views_that_do_not_fit_are_refused(view: Definition, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Distribution(CollectorRegistry(), definition("took"), [(view, 1000.0)])


def test_bounds_must_ascend() -> None:
    with pytest.raises(ValueError, match="ascend"):
        Distribution(CollectorRegistry(), msgspec.structs.replace(definition("took"), buckets=(1.0, 0.5)))


def test_one_thread_may_collect_while_another_counts() -> None:
    registry = CollectorRegistry()
    distribution = Distribution(registry, definition("took", "stage"))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as threads:
            counting = threads.submit(lambda: [*map(distribution.observe, [1.0] * 3000, map(str, range(3000)))])
            while not counting.done():
                list(distribution.collect())
            counting.result()
    finally:
        sys.setswitchinterval(interval)
    assert registry.get_sample_value("took_count", {"stage": "2999"}) == 1


def test_a_name_is_taken_once() -> None:
    registry = CollectorRegistry()
    Distribution(registry, definition("took"))
    with pytest.raises(ValueError, match="took"):
        Distribution(registry, definition("took"))
