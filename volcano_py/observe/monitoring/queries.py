"""PromQL made from the definitions of the metrics: what they do not have cannot be asked for.

Names of metrics are given without `volcano_`. A filter is a mapping from label to value; a value that begins with an
operator (`=~`, `!=`, `!~`) is used with it. Every function returns the text of one query and raises QueryError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from volcano_py.observe.metrics import CATALOGUE, Definition, MetricKind
from volcano_py.observe.metrics.definition import PREFIX

Filter = Mapping[str, str]

WINDOW: Final = "$__rate_interval"
"""Grafana's: long enough for a rate at the chosen resolution."""

SCRAPED: Final = ("job", "instance")
"""Labels that Prometheus itself adds to what it scrapes."""

PROCESS: Final = frozenset(
    {
        "process_resident_memory_bytes",
        "process_cpu_seconds_total",
        "process_open_fds",
        "process_max_fds",
        "process_start_time_seconds",
    }
)
"""Of the Prometheus client for Python. Other programs have them, too: `of_process` keeps to ours."""

_KNOWN: Final[Mapping[str, Definition]] = {
    definition.name.removeprefix(PREFIX): definition for section in CATALOGUE for definition in section.definitions
}
_COUNTERS: Final = (MetricKind.COUNTER, MetricKind.UNTYPED)
_OPERATORS: Final = ("=~", "!=", "!~")


class QueryError(ValueError):
    """The definitions do not have what a query asks for; the message names the metric."""


def gauge(name: str, by: Sequence[str] = (), where: Filter | None = None, *, over: str = "max") -> str:
    """A gauge, over all replicas. Those of queues come from the leader alone, so that `max` counts nothing twice while
    the leader changes."""
    return _over(over, by, _series(name, where, by, (MetricKind.GAUGE,)))


def rate(name: str, by: Sequence[str] = (), where: Filter | None = None, *, window: str = WINDOW) -> str:
    """How much a counter grows in a second."""
    return _over("sum", by, f"rate({_series(name, where, by, _COUNTERS)}[{window}])")


def increase(name: str, by: Sequence[str] = (), where: Filter | None = None, *, window: str = WINDOW) -> str:
    """By how much a counter has grown in the window."""
    return _over("sum", by, f"increase({_series(name, where, by, _COUNTERS)}[{window}])")


def quantile(
    share: float, name: str, by: Sequence[str] = (), where: Filter | None = None, *, window: str = WINDOW
) -> str:
    """What this share of the observations in the window did not exceed."""
    series = _series(name, where, by, (MetricKind.HISTOGRAM,), suffix="_bucket")
    return f"histogram_quantile({share:g}, {_over('sum', ('le', *by), f'rate({series}[{window}])')})"


def buckets(name: str, where: Filter | None = None, *, window: str = WINDOW) -> str:
    """Observations in the window by upper bound, for a heat map."""
    series = _series(name, where, (), (MetricKind.HISTOGRAM,), suffix="_bucket")
    return _over("sum", ("le",), f"increase({series}[{window}])")


def observations(name: str, by: Sequence[str] = (), where: Filter | None = None, *, window: str = WINDOW) -> str:
    """Observations of a histogram in a second."""
    series = _series(name, where, by, (MetricKind.HISTOGRAM,), suffix="_count")
    return _over("sum", by, f"rate({series}[{window}])")


def of_process(query: str) -> str:
    """What `query` says of our processes, by instance; it must keep the labels `job` and `instance`."""
    return f"{query} and on (job, instance) {_series('build_info', None, (), (MetricKind.GAUGE,))}"


def process(name: str) -> str:
    """A metric of the Prometheus client, as it is."""
    if name not in PROCESS:
        raise QueryError(f"{name} is none of the client's metrics that are known here: {', '.join(sorted(PROCESS))}")
    return name


def else_zero(query: str, **labels: str) -> str:
    """`query`, and 0 with these labels where it has no result at all."""
    zero = "vector(0)"
    for label, value in labels.items():
        zero = f'label_replace({zero}, "{label}", "{value}", "", "")'
    return f"({query}) or on () {zero}"


def matchers(where: Filter | None) -> str:
    """A filter as PromQL writes it, in braces; "" for none."""
    if not where:
        return ""
    return "{" + ", ".join(_matcher(label, value) for label, value in where.items()) + "}"


def _matcher(label: str, value: str) -> str:
    operator = next((each for each in _OPERATORS if value.startswith(each)), "")
    return f'{label}{operator or "="}"{value.removeprefix(operator)}"'


def _series(
    name: str, where: Filter | None, by: Sequence[str], kinds: tuple[MetricKind, ...], *, suffix: str = ""
) -> str:
    definition = _KNOWN.get(name)
    if definition is None:
        raise QueryError(f"there is no metric {PREFIX}{name}; docs/reference/metrics.md lists those there are")
    if definition.kind not in kinds:
        wanted = " or ".join(kind.value for kind in kinds)
        raise QueryError(f"{definition.name} is a {definition.kind.value}, and the query needs a {wanted}")
    if definition.is_per_job:
        raise QueryError(f"{definition.name} is switched off by default, so a panel of it would be empty")
    if unknown := {*by, *(where or ())} - {*definition.labels, *SCRAPED}:
        known = ", ".join(definition.labels) or "none"
        raise QueryError(f"{definition.name} has no label {', '.join(sorted(unknown))}; it has {known}")
    return f"{definition.name}{suffix}{matchers(where)}"


def _over(operator: str, by: Sequence[str], inner: str) -> str:
    grouping = f" by ({', '.join(by)}) " if by else " "
    return f"{operator}{grouping}({inner})".replace(f"{operator} (", f"{operator}(")
