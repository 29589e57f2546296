"""Metrics that dashboards and alerts of the cluster ask for, and that volcano-py does not have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from volcano_py.migrate.model import Finding, Installation, Level, Raw
from volcano_py.observe.metrics import CATALOGUE

METRICS: Final = "docs/reference/metrics.md"

_KNOWN: Final = {definition.name: definition for section in CATALOGUE for definition in section.definitions}
_SUFFIX: Final = re.compile(r"_(bucket|sum|count|total)$")
# What names labels, not metrics.
_GROUPING: Final = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")
_MATCHERS: Final = re.compile(r"\{[^}]*\}")
_METRIC: Final = re.compile(r"\bvolcano_[a-z0-9_]+")
_QUERIES: Final = frozenset({"expr", "query", "definition"})
"""Fields of a rule or a dashboard that hold a query."""


def of_metrics(installation: Installation) -> Iterator[Finding]:
    """One finding for each rule or dashboard."""
    for about, queries in _sources(installation):
        used = {metric for query in queries for metric in metrics_of(query)}
        if unknown := sorted(name for name in used if _definition(name) is None):
            yield Finding(
                Level.DIFFERS,
                about,
                f"it asks for metrics that volcano-py does not have: {', '.join(unknown)}",
                "see the page for what takes their place",
                METRICS,
            )
        if per_job := sorted(name for name in used if _is_per_job(name)):
            yield Finding(
                Level.DIFFERS,
                about,
                f"it asks for metrics with a series for each job, which are switched off: {', '.join(per_job)}",
                "add --per-job-metrics to the arguments of Deployment volcano-py",
                METRICS,
            )


def metrics_of(query: str) -> set[str]:
    """Names of Volcano's metrics in a query of PromQL."""
    return set(_METRIC.findall(_GROUPING.sub("", _MATCHERS.sub("", query))))


def _definition(name: str) -> Any:
    return _KNOWN.get(name) or _KNOWN.get(_SUFFIX.sub("", name))


def _is_per_job(name: str) -> bool:
    definition = _definition(name)
    return definition is not None and bool(definition.is_per_job)


def _sources(installation: Installation) -> Iterator[tuple[str, list[str]]]:
    for rule in installation.of_kind("PrometheusRule"):
        yield f"PrometheusRule {_key(rule)}", list(_queries(rule.get("spec")))
    for each in installation.of_kind("ConfigMap"):
        for name, text in sorted((each.get("data") or {}).items()):
            if name.endswith(".json") and "volcano_" in text:
                try:
                    yield f"ConfigMap {_key(each)}, {name}", list(_queries(json.loads(text)))
                except ValueError:
                    continue  # no dashboard that Grafana could show


def _queries(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, below in value.items():
            if name in _QUERIES and isinstance(below, str):
                yield below
            else:
                yield from _queries(below)
    elif isinstance(value, list):
        for below in value:
            yield from _queries(below)


def _key(raw: Raw) -> str:
    return f"{raw['metadata'].get('namespace', '')}/{raw['metadata']['name']}"
