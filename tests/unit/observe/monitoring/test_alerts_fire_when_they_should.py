"""Alerts, by promtool: each fires in one of the tests in `alerts/`, none does where all is well; and what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.observe.monitoring.conftest import Promtool
from tests.unit.observe.monitoring.promql import names_in
from volcano_py.api.reasons import Rank, Reason
from volcano_py.observe.monitoring.alerts import ALERTS, GROUPS, PAGE, WAITS_FOR_ROOM, Alert, Severity
from volcano_py.observe.monitoring.boards import DASHBOARDS
from volcano_py.observe.monitoring.boards.waits import LASTING
from volcano_py.observe.monitoring.rules import prometheus_rule, rules, runbook

HERE = Path(__file__).parent
FILES = sorted((HERE / "alerts").glob("*.test.yaml"))
RULES = Path("manifests/monitoring/alerts/plain/volcano-py.rules.yaml")

EACH = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
pytestmark = pytest.mark.timeout(900)  # where promtool must be built first


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_alerts_fire_when_they_should(path: Path, promtool: Promtool) -> None:
    assert "SUCCESS" in promtool("test", "rules", str(path))


def test_the_rules_are_valid(promtool: Promtool, project: Path) -> None:
    assert f"{len(ALERTS)} rules found" in promtool("check", "rules", str(project / RULES))


def _expected(test: Any) -> list[str]:
    fired = [each["alertname"] for each in test.get("alert_rule_test", ()) if each["exp_alerts"]]
    samples = [sample["labels"] for each in test.get("promql_expr_test", ()) for sample in each["exp_samples"]]
    return fired + [
        name for labels in samples if "firing" in labels for name in re.findall(r'alertname="(\w+)"', labels)
    ]


def test_each_alert_fires_in_a_test_and_each_file_has_a_cluster_where_none_does() -> None:
    fired: list[str] = []
    for path in FILES:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert (path.parent / document["rule_files"][0]).resolve() == HERE.parents[3] / RULES
        tests = document["tests"]
        fired += [name for test in tests for name in _expected(test)]
        quiet = tests[0]["promql_expr_test"]
        assert all(each["expr"].startswith("ALERTS") and not each["exp_samples"] for each in quiet), path
        assert all("alertname" not in each["expr"] for each in quiet), path
    assert sorted(set(fired)) == sorted(alert.name for alert in ALERTS)


@EACH
def test_an_alert_says_what_is_wrong_with_what_and_what_to_do(alert: Alert) -> None:
    assert alert.name.startswith("VolcanoPy")
    assert not alert.summary.endswith(".")
    assert alert.description.endswith(".")
    assert len(re.findall(r"[.;:] ", alert.description)) >= 1, "what is wrong, and the fix"
    assert alert.dashboard in {dashboard.uid for dashboard in DASHBOARDS}


@EACH
def test_templates_name_labels_that_the_query_keeps(alert: Alert) -> None:
    names = names_in(alert.query)
    named = set(re.findall(r"\$labels\.(\w+)", alert.summary + alert.description))
    assert named <= names.groups, "labels that the query groups by"


@EACH
def test_the_runbook_is_a_section_of_the_guide(alert: Alert, project: Path) -> None:
    page = (project / PAGE).read_text(encoding="utf-8")
    assert runbook(alert).endswith(f"{PAGE}#{alert.name.lower()}")
    assert f"\n### {alert.name}\n" in page
    assert re.search(
        rf"^\| \[`{alert.name}`\]\(#{alert.name.lower()}\) \| {alert.severity.value} \|", page, re.MULTILINE
    )


def test_the_operators_object_has_the_same_rules() -> None:
    assert prometheus_rule()["spec"] == rules()
    assert [group["name"] for group in rules()["groups"]] == [group.name for group in GROUPS]
    assert {rule["labels"]["severity"] for group in rules()["groups"] for rule in group["rules"]} == set(Severity)


def test_reasons_are_a_mistake_or_the_lack_of_room() -> None:
    """Each reason is looked after by one alert, or ends by itself within moments, or is asked for by its owner."""
    assert not set(LASTING) & set(WAITS_FOR_ROOM)
    others = {reason.value for reason in Reason} - {*LASTING, *WAITS_FOR_ROOM}
    assert others == {reason.value for reason in Reason if reason.rank in (Rank.GATED, Rank.NOT_EVALUATED)}
