"""Queries of dashboards and alerts name metrics and labels that the definitions have; dashboards hang together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.unit.observe.monitoring.promql import Names, Series, names_in
from volcano_py.observe.metrics import CATALOGUE, Definition, MetricKind
from volcano_py.observe.monitoring.__main__ import main
from volcano_py.observe.monitoring.alerts import ALERTS
from volcano_py.observe.monitoring.boards import DASHBOARDS
from volcano_py.observe.monitoring.grafana import dashboard_json
from volcano_py.observe.monitoring.panels import Dashboard, Shape
from volcano_py.observe.monitoring.queries import PROCESS, SCRAPED, QueryError, gauge, increase, process, quantile, rate

DEFINITIONS = {definition.name: definition for section in CATALOGUE for definition in section.definitions}

QUERIES = [
    *(
        pytest.param(target.query, id=f"{dashboard.uid}: {panel.title}: {target.legend}")
        for dashboard in DASHBOARDS
        for panel in dashboard.panels
        for target in panel.targets
    ),
    *(pytest.param(alert.query, id=alert.name) for alert in ALERTS),
]
EACH_DASHBOARD = pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.uid)


def definition_of(metric: str) -> Definition | None:
    """Of a histogram, under the names of its series."""
    if metric in DEFINITIONS and DEFINITIONS[metric].kind is not MetricKind.HISTOGRAM:
        return DEFINITIONS[metric]
    found = DEFINITIONS.get(re.sub(r"_(bucket|sum|count)$", "", metric))
    return found if found is not None and found.kind is MetricKind.HISTOGRAM else None


@pytest.mark.parametrize("query", QUERIES)
def test_every_metric_and_label_of_a_query_is_defined(query: str) -> None:
    names = names_in(query)
    assert names.series
    known = {*SCRAPED, *names.made}
    for series in names.series:
        if series.metric in PROCESS:
            continue
        definition = definition_of(series.metric)
        assert definition is not None, f"{series.metric} is not defined"
        assert not definition.is_per_job, f"{series.metric} is off by default"
        labels = {*definition.labels, *SCRAPED, *(["le"] if series.metric.endswith("_bucket") else [])}
        assert set(series.labels) <= labels, series
        known |= labels
    assert names.groups <= known


def test_names_are_read_out_of_queries() -> None:
    query = (
        'sum by (le, queue) (rate(a_bucket{x="b{c}", y=~"d|e"}[$__rate_interval])) / on (job) '
        'label_replace(volcano_q, "queue", "$1", "queue_name", "(.*)") or vector(0) > 5e3'
    )
    assert names_in(query) == Names(
        (Series("a_bucket", ("x", "y")), Series("volcano_q", ())),
        frozenset({"le", "queue", "job"}),
        frozenset({"queue"}),
    )


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: gauge("queue_shares"), "there is no metric volcano_queue_shares"),
        (lambda: rate("leader"), "volcano_leader is a gauge, and the query needs a counter or unknown"),
        (lambda: gauge("binds_total"), "volcano_binds_total is a counter, and the query needs a gauge"),
        (lambda: quantile(0.9, "leader"), "the query needs a histogram"),
        (lambda: increase("binds_total", ("result",)), "has no label result; it has outcome"),
        (lambda: gauge("leader", where={"queue": "a"}), "has no label queue; it has none"),
        (lambda: gauge("job_share"), "switched off by default"),
        (lambda: process("process_goroutines"), "none of the client's metrics"),
    ],
)
def test_a_query_that_could_find_nothing_cannot_be_built(build: Any, complaint: str) -> None:
    with pytest.raises(QueryError, match=re.escape(complaint)):
        build()


def test_what_is_kept_is_what_is_generated(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["--check", "--directory", str(project / "manifests/monitoring")])
    assert status == 0, capsys.readouterr().err


def test_a_file_that_is_out_of_date_is_named_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", "--directory", str(tmp_path)]) == 1
    assert f"{tmp_path}/dashboards/volcano-py-cluster.json is out of date: run python -m" in capsys.readouterr().err
    assert main(["--directory", str(tmp_path)]) == 0
    assert main(["--check", "--directory", str(tmp_path)]) == 0


def test_uids_and_titles_are_unique() -> None:
    assert len({dashboard.uid for dashboard in DASHBOARDS}) == len(DASHBOARDS)
    for dashboard in DASHBOARDS:
        titles = [panel.title for panel in dashboard.panels]
        assert len(titles) == len(set(titles)), dashboard.uid


@EACH_DASHBOARD
def test_every_panel_says_what_it_means_and_names_its_series(dashboard: Dashboard) -> None:
    for panel in dashboard.panels:
        assert panel.text.endswith((".", "?")), panel.title
        assert panel.targets, panel.title
        for target in panel.targets:
            names = names_in(target.query)
            assert set(re.findall(r"{{(\w+)}}", target.legend)) <= names.groups | {"instance"}, panel.title
            assert target.legend or panel.shape in (Shape.STAT, Shape.HEATMAP, Shape.TABLE), panel.title


@EACH_DASHBOARD
def test_variables_are_defined_and_used(dashboard: Dashboard) -> None:
    text = json.dumps(dashboard_json(dashboard))
    used = set(re.findall(r"\$(\w+)", " ".join(target.query for panel in dashboard.panels for target in panel.targets)))
    assert used - {"1", "__rate_interval"} == {variable.name for variable in dashboard.variables}
    assert "$datasource" not in used
    assert '"${datasource}"' in text
    for variable in dashboard.variables:
        assert variable.label in DEFINITIONS[variable.metric].labels


@EACH_DASHBOARD
def test_links_lead_to_dashboards_there_are(dashboard: Dashboard) -> None:
    uids = {each.uid for each in DASHBOARDS}
    document = dashboard_json(dashboard)
    assert set(re.findall(r"/d/([\w-]+)", json.dumps(document))) <= uids
    (links,) = document["links"]
    assert set(links["tags"]) <= set(document["tags"])


@EACH_DASHBOARD
def test_panels_lie_side_by_side(dashboard: Dashboard) -> None:
    panels = dashboard_json(dashboard)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for one, other in combinations([panel["gridPos"] for panel in panels], 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one, other)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels)


def tables() -> Iterator[Any]:
    for dashboard in DASHBOARDS:
        for panel in dashboard_json(dashboard)["panels"]:
            if panel["type"] == "table":
                yield pytest.param(panel, id=panel["title"])


@pytest.mark.parametrize("panel", list(tables()))
def test_columns_of_tables_have_titles_and_their_units(panel: Any) -> None:
    (organize,) = [each["options"] for each in panel["transformations"] if each["id"] == "organize"]
    values = {"Value"} if len(panel["targets"]) == 1 else {f"Value #{target['refId']}" for target in panel["targets"]}
    assert organize["renameByName"].keys() | organize["excludeByName"].keys() == values | {"Time"}
    titles = set(organize["renameByName"].values())
    assert {each["matcher"]["options"] for each in panel["fieldConfig"]["overrides"]} <= titles
    assert all(target["format"] == "table" and target["instant"] for target in panel["targets"])
