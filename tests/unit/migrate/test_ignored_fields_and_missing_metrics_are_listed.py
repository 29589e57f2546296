"""Objects that say more than this scheduler reads, jobs that would wait here, and dashboards that would be empty."""

from __future__ import annotations

import json

import pytest

from tests.unit.migrate.stock import Stock, captured
from volcano_py.migrate.metrics import metrics_of
from volcano_py.migrate.model import Level


def test_fields_that_are_not_read_are_listed_with_their_objects() -> None:
    stock = Stock()
    for number in range(5):
        stock.add("PodGroup", f"g-{number}", "team", spec={"minMember": 1, "magic": {"a": 1}})
    stock.add("Queue", "q", spec={"weight": 1, "extendClusters": [{"name": "other"}]})
    found = {each.about: each.message for each in stock.findings(Level.DIFFERS) if "Dashboard" not in each.about}
    assert found["PodGroup team/g-0, team/g-1, team/g-2 and 2 more"] == "spec.magic has no effect here"
    assert found["Queue q"] == "spec.extendClusters has no effect here"


def test_values_that_say_nothing_are_not_listed() -> None:
    """As Go clients write them."""
    stock = Stock()
    stock.add("Queue", "q", spec={"weight": 1, "extendClusters": [], "later": None, "name": ""})
    assert not stock.findings(Level.DIFFERS, "Queue")


def test_fields_of_queues_that_the_configuration_does_not_use_are_listed() -> None:
    stock = Stock()
    stock.add("Queue", "q", spec={"weight": 1, "deserved": {"cpu": "4"}})
    (finding,) = stock.findings(Level.DIFFERS, "Queue")
    assert finding.message == (
        "spec.deserved (cpu 4) has no effect: proportion divides by spec.weight; configure capacity in its place, or "
        "remove the field"
    )


def test_jobs_that_would_wait_for_what_they_are_are_listed() -> None:
    """By the first cycle on a copy of the cluster; those that wait for room are not."""
    cluster = captured("""
{kind: Node, apiVersion: v1, metadata: {name: n1}, status: {allocatable: {cpu: "1", pods: "10"}}}
---
{kind: Queue, apiVersion: scheduling.volcano.sh/v1beta1, metadata: {name: default}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: wrong, namespace: team}
spec: {minMember: 1, queue: missing}
---
apiVersion: v1
kind: Pod
metadata: {name: wrong-0, namespace: team, annotations: {scheduling.k8s.io/group-name: wrong}}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: large, namespace: team}
spec: {minMember: 1, queue: default}
---
apiVersion: v1
kind: Pod
metadata: {name: large-0, namespace: team, annotations: {scheduling.k8s.io/group-name: large}}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: "9"}}}]}
""")
    found = [each for each in Stock().check(cluster).of_level(Level.DIFFERS) if each.about.startswith("PodGroup")]
    assert [each.about for each in found] == ["PodGroup team/wrong"]
    assert found[0].message.startswith("it would wait with ")
    assert "missing" in found[0].message


def dashboard(stock: Stock, *queries: str) -> None:
    panels = [{"targets": [{"expr": each}]} for each in queries]
    stock.named("ConfigMap", "grafana-volcano-dashboard")["data"] = {"d.json": json.dumps({"panels": panels})}


def test_metrics_that_we_do_not_have_are_listed() -> None:
    stock = Stock()
    dashboard(stock, "rate(volcano_made_up_total[5m])", "volcano_queue_allocated_milli_cpu")
    (finding,) = stock.findings(Level.DIFFERS, "ConfigMap")
    assert finding.about == "ConfigMap volcano-system/grafana-volcano-dashboard, d.json"
    assert finding.message == "it asks for metrics that volcano-py does not have: volcano_made_up_total"


def test_metrics_of_jobs_ask_for_the_switch() -> None:
    (finding,) = Stock().findings(Level.DIFFERS, "grafana-volcano-dashboard")
    assert "volcano_e2e_job_scheduling_duration" in finding.message
    assert finding.fix == "add --per-job-metrics to the arguments of Deployment volcano-py"


def test_rules_of_the_prometheus_operator_are_read_too() -> None:
    stock = Stock()
    rules = [{"alert": "A", "expr": "volcano_made_up > 1"}]
    stock.add("PrometheusRule", "r", "monitoring", spec={"groups": [{"name": "g", "rules": rules}]})
    (finding,) = stock.findings(Level.DIFFERS, "PrometheusRule")
    assert finding.about == "PrometheusRule monitoring/r"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ('sum(kube_x{resource="memory"}) by (volcano_namespace)', set()),
        ('volcano_a{volcano_label="volcano_b"}', {"volcano_a"}),
        ("volcano_a / on(volcano_c) group_left (volcano_d) volcano_b_bucket", {"volcano_a", "volcano_b_bucket"}),
    ],
)
def test_labels_are_no_metrics(query: str, names: set[str]) -> None:
    assert metrics_of(query) == names


def test_a_file_that_is_no_json_is_no_dashboard() -> None:
    stock = Stock()
    stock.named("ConfigMap", "grafana-volcano-dashboard")["data"] = {"d.json": "volcano_made_up"}
    assert not stock.findings(Level.DIFFERS, "ConfigMap")
