"""Prometheus metrics: Volcano's names and labels, our own in addition, and no global registry.

Each module holds the definitions of one concern and what feeds them; `Metrics` puts them together.
"""

from volcano_py.observe.metrics.daemon import Reload
from volcano_py.observe.metrics.definition import Definition, MetricKind
from volcano_py.observe.metrics.effects import Outcome
from volcano_py.observe.metrics.latency import SchedulingStage, TaskStage
from volcano_py.observe.metrics.metrics import CATALOGUE, Metrics, Section

__all__ = [
    "CATALOGUE",
    "Definition",
    "MetricKind",
    "Metrics",
    "Outcome",
    "Reload",
    "SchedulingStage",
    "Section",
    "TaskStage",
]
