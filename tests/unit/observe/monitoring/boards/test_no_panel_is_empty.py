"""Every query has a result for a scheduler that has just started, and for one with work, as promtool evaluates it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.registries import checked_registry
from tests.support.sessions import gang, node, queue
from tests.unit.observe.monitoring.conftest import Promtool
from tests.unit.observe.scraping import scrape
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.observe.metrics import Metrics, Outcome
from volcano_py.observe.metrics.latency import TaskStage
from volcano_py.observe.monitoring.boards import DASHBOARDS
from volcano_py.simulation import Simulation

pytestmark = pytest.mark.timeout(900)  # where promtool must be built first

CHOICES = {"$__rate_interval": "5m", "$queue": ".*", "$namespace": ".*", "$resource": "cpu"}
MINUTES = 10


def query_of(text: str) -> str:
    """With what Grafana writes for its variables."""
    for variable, value in CHOICES.items():
        text = text.replace(variable, value)
    return text


def started() -> Metrics:
    """A leader of a cluster without any work, after its first cycle."""
    return after(Metrics(), [node("n1", cpu="8")])


def at_work() -> Metrics:
    """One gang runs, one waits, some were evicted."""
    metrics = Metrics()
    after(
        metrics,
        [
            node("n1", cpu="8"),
            queue("a"),
            queue("b"),
            *gang("runs", cpu="1", queue="a"),
            *gang("waits", cpu="9", queue="b"),
        ],
    )
    metrics.effects.bound(Outcome.DONE, 0.02)
    metrics.effects.evicted("reclaim", Outcome.DONE)
    metrics.effects.evicted("reclaim", Outcome.REFUSED)
    metrics.latencies.task_reached(TaskStage.BOUND, 2.0)
    metrics.latencies.job_scheduled(3.0)
    metrics.admission.reviewed("jobs", "CREATE", "allowed", 0.01)
    return metrics


def after(metrics: Metrics, objects: list[Any]) -> Metrics:
    """What a daemon shows that leads and has decided on these objects with the shipped configuration."""
    registry = checked_registry()
    configuration = parse_configuration(default_configuration_text(), registry.catalogue()).config
    assert configuration is not None
    simulation = Simulation([(type(obj).__name__, obj) for obj in flat(objects)], configuration, registry)
    simulation.run()
    metrics.set_leader(True)
    for report in simulation.reports:
        metrics.observe_cycle(report)
    metrics.intake.behind("Pod", 0.0)
    metrics.intake.watch_events("Pod", 1)
    metrics.intake.relisted("Pod", 0)
    metrics.effects.queue_depth("bind", 0)
    metrics.effects.in_flight("bind", 0)
    metrics.effects.events_dropped("repeated", 0)
    metrics.effects.requested("GET", 200, 1)
    return metrics


def flat(objects: Iterable[Any]) -> Iterator[Any]:
    for each in objects:
        if isinstance(each, list | tuple):
            yield from flat(each)
        else:
            yield each


def series(metrics: Metrics) -> list[dict[str, str]]:
    """The scrape, the same every minute, as promtool reads it."""
    return [
        {"series": f"{name}{_labels({**dict(labels), 'job': 'j', 'instance': 'i'})}", "values": f"{value!r}x{MINUTES}"}
        for (name, labels), value in scrape(metrics).items()
        if name.startswith(("volcano_", "process_"))
    ]


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ", ".join(f'{name}="{value}"' for name, value in sorted(labels.items())) + "}"


@pytest.mark.parametrize("metrics", [started, at_work], ids=["just started", "at work"])
def test_every_query_has_a_result(metrics: Any, promtool: Promtool, tmp_path: Path) -> None:
    """`count(… > -Inf) > bool 0` is 1 for a query that has a number, and has no result for one without, or with NaN."""
    queries = [
        query_of(target.query) for dashboard in DASHBOARDS for panel in dashboard.panels for target in panel.targets
    ]
    tests = [
        {
            "expr": f"count(({query}) > -Inf) > bool 0",
            "eval_time": f"{MINUTES}m",
            "exp_samples": [{"labels": "{}", "value": 1}],
        }
        for query in queries
    ]
    document = {"tests": [{"interval": "1m", "input_series": series(metrics()), "promql_expr_test": tests}]}
    path = tmp_path / "panels.test.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    assert "SUCCESS" in promtool("test", "rules", str(path))


@pytest.mark.parametrize("query", ["volcano_nothing", "0 / 0 * volcano_leader"])
def test_a_query_without_a_result_is_found(query: str, promtool: Promtool, tmp_path: Path) -> None:
    """The test above can fail."""
    test = {
        "expr": f"count(({query}) > -Inf) > bool 0",
        "eval_time": "1m",
        "exp_samples": [{"labels": "{}", "value": 1}],
    }
    document = {"tests": [{"interval": "1m", "input_series": series(started()), "promql_expr_test": [test]}]}
    path = tmp_path / "panels.test.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises(pytest.fail.Exception, match="got: nil"):
        promtool("test", "rules", str(path))
