"""Queues and pending PodGroups at /metrics: units, absence, bounds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.unit.observe.scraping import scrape, value
from volcano_py.api.reasons import Reason
from volcano_py.api.report import CycleReport, PendingJob, QueueReport
from volcano_py.observe.metrics import Metrics

Report = Callable[..., CycleReport]
GI = 1 << 30

TEAM_A = QueueReport(
    name="team-a",
    weight=3,
    parent="org",
    state="Closing",
    allocated={"cpu": 12_500, "memory": 8 * GI, "pods": 7, "nvidia.com/gpu": 4},
    request={"cpu": 20_000},
    deserved={"memory": 16 * GI},
    capability={"nvidia.com/gpu": 8},
    real_capability={"cpu": 64_000},
    guarantee={"cpu": 2_000},
    guarantee_not_kept={"memory": GI, "example.com/typo": 3},
    share=0.75,
    overused=True,
    pod_groups={"Running": 2, "Pending": 1},
)


@pytest.fixture
def team_a(metrics: Metrics, report: Report) -> Metrics:
    metrics.observe_cycle(report(queues={"team-a": TEAM_A}))
    return metrics


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("queue_allocated_milli_cpu", 12_500),
        ("queue_allocated_memory_bytes", 8 * GI),
        ("queue_request_milli_cpu", 20_000),
        ("queue_request_memory_bytes", 0),
        ("queue_deserved_milli_cpu", 0),
        ("queue_deserved_memory_bytes", 16 * GI),
        ("queue_capacity_milli_cpu", None),
        ("queue_capacity_mill_cpu", None),
        ("queue_capacity_memory_bytes", None),
        ("queue_real_capacity_milli_cpu", 64_000),
        ("queue_real_capacity_mill_cpu", 64_000),
        ("queue_real_capacity_memory_bytes", None),
        ("queue_inqueue_milli_cpu", 0),
        ("queue_inqueue_memory_bytes", 0),
        ("queue_share", 0.75),
        ("queue_weight", 3),
        ("queue_overused", 1),
        ("queue_pod_group_running_count", 2),
        ("queue_pod_group_pending_count", 1),
        ("queue_pod_group_unknown_count", 0),
    ],
)
def test_sums_without_an_entry_are_zero_and_ceilings_without_one_have_no_series(
    team_a: Metrics, name: str, expected: float | None
) -> None:
    assert value(team_a, name, queue_name="team-a") == expected


def test_other_resources_are_in_thousandths_and_pods_are_a_count(team_a: Metrics) -> None:
    allocated = {"queue_name": "team-a", "resource": "nvidia.com/gpu"}
    assert value(team_a, "queue_allocated_scalar_resources", **allocated) == 4000
    assert value(team_a, "queue_capacity_scalar_resources", **allocated) == 8000
    assert value(team_a, "queue_allocated_scalar_resources", queue_name="team-a", resource="pods") == 7


def test_our_own_gauge_has_base_units_and_guarantees(team_a: Metrics) -> None:
    def amount(quantity: str, resource: str) -> float | None:
        return value(team_a, "queue_resources", queue="team-a", quantity=quantity, resource=resource)

    assert amount("allocated", "cpu") == 12.5
    assert amount("allocated", "memory") == 8 * GI
    assert amount("allocated", "nvidia.com/gpu") == 4
    assert amount("guarantee", "cpu") == 2
    assert amount("guarantee", "memory") is None
    assert amount("guarantee_not_kept", "cpu") is None
    assert amount("guarantee_not_kept", "memory") == GI
    assert amount("guarantee_not_kept", "example.com/typo") == 3
    assert amount("capability", "cpu") is None


def test_the_metrics_of_a_queue_have_its_parent_and_its_state(team_a: Metrics) -> None:
    assert value(team_a, "queue_info", queue="team-a", parent="org", state="Closing") == 1


def test_deserved_has_no_series_when_no_plugin_works_it_out(metrics: Metrics, report: Report) -> None:
    metrics.observe_cycle(report(queues={"q": QueueReport(name="q")}))
    assert value(metrics, "queue_deserved_milli_cpu", queue_name="q") is None
    assert value(metrics, "queue_allocated_milli_cpu", queue_name="q") == 0


def test_a_queue_that_is_gone_leaves_nothing_behind(team_a: Metrics, report: Report) -> None:
    team_a.observe_cycle(report(queues={"team-b": QueueReport(name="team-b")}))
    labels = {label for _, labels in scrape(team_a) for label in labels}
    assert ("queue_name", "team-b") in labels
    assert not [value for _, value in labels if value == "team-a"]


def test_a_replica_that_no_longer_leads_shows_no_queues(team_a: Metrics) -> None:
    team_a.set_leader(True)
    assert value(team_a, "queue_weight", queue_name="team-a") == 3
    team_a.set_leader(False)
    assert value(team_a, "queue_weight", queue_name="team-a") is None
    assert value(team_a, "leader") == 0
    assert value(team_a, "leader_changes_total") == 2


def test_what_waits_is_counted_by_queue_and_reason(metrics: Metrics, report: Report) -> None:
    pending = (
        PendingJob("ml/a", "team-a", "Pending", Reason.OVER_CAPABILITY, "…", 3, created=700.0),
        PendingJob("ml/b", "team-a", "Inqueue", Reason.OVER_CAPABILITY, "…", 2, created=500.0),
        PendingJob("ml/c", "team-a", "Inqueue", Reason.NODES_REFUSE, "…", 1, created=900.0),
    )
    metrics.observe_cycle(report(queues={"team-a": TEAM_A}, pending=pending, nodes=5, tasks=9, jobs=4))
    assert value(metrics, "pending_pod_groups", queue="team-a", reason="OverCapability") == 2
    assert value(metrics, "pending_pods", queue="team-a", reason="OverCapability") == 5
    assert value(metrics, "pending_pod_groups", queue="team-a", reason="NodesRefuse") == 1
    assert value(metrics, "pending_oldest_timestamp_seconds", queue="team-a", reason="OverCapability") == 500
    assert value(metrics, "pending_oldest_timestamp_seconds", queue="team-a", reason="NodesRefuse") == 900
    assert value(metrics, "unschedule_job_count") == 3
    assert value(metrics, "unschedule_job_counts") == 3
    assert [value(metrics, f"snapshot_{what}") for what in ("nodes", "tasks", "jobs")] == [5, 9, 4]


def test_queues_that_do_not_exist_are_counted_together_whatever_they_are_called(
    metrics: Metrics, report: Report
) -> None:
    pending = tuple(
        PendingJob(f"ml/{n}", f"invented-{n}", "Pending", Reason.QUEUE_NOT_FOUND, "…", 1) for n in range(50)
    )
    metrics.observe_cycle(report(pending=pending))
    assert value(metrics, "pending_pod_groups", queue="(not found)", reason="QueueNotFound") == 50
    assert b"invented" not in metrics.render()[0]


def test_resources_that_only_requests_invent_are_bounded(metrics: Metrics, report: Report) -> None:
    invented = {f"evil.example/{n:04d}": 1 for n in range(5000)}
    queue = QueueReport(name="q", request=invented | {"nvidia.com/gpu": 2}, real_capability={"nvidia.com/gpu": 8})
    metrics.observe_cycle(report(queues={"q": queue}))
    reported = {dict(labels)["resource"] for _, labels in scrape(metrics) if "resource" in dict(labels)}
    assert "nvidia.com/gpu" in reported
    assert len([name for name in reported if name.startswith("evil")]) == 32


def test_odd_names_are_escaped(metrics: Metrics, report: Report) -> None:
    name = 'a"b\\c\nd<script>ü'
    metrics.observe_cycle(report(queues={name: QueueReport(name=name)}))
    assert value(metrics, "queue_weight", queue_name=name) == 1


def test_nothing_is_shown_before_the_first_cycle(metrics: Metrics) -> None:
    assert value(metrics, "unschedule_job_count") is None
    assert not [name for name, _ in scrape(metrics) if name.startswith("volcano_queue_")]


def test_jobs_are_named_when_asked_for(report: Report) -> None:
    metrics = Metrics(per_job=True)
    metrics.observe_cycle(report(pending=(PendingJob("ml/a", "q", "Pending", Reason.NODES_REFUSE, "…", 3),)))
    assert value(metrics, "unschedule_task_count", job_id="ml/a") == 3
