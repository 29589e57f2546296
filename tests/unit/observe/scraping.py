"""Reading /metrics as Prometheus does."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from volcano_py.observe.metrics import Metrics

Series = Mapping[tuple[str, frozenset[tuple[str, str]]], float]
"""(sample name, labels) → value."""


def scrape(metrics: Metrics) -> Series:
    """What Prometheus would store; a series reported twice would be refused, so it fails here too."""
    series: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for family in text_string_to_metric_families(metrics.render()[0].decode()):
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in series, f"{key} is exposed twice"
            series[key] = sample.value
    return series


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return scrape(metrics).get((f"volcano_{name}", frozenset(labels.items())))
