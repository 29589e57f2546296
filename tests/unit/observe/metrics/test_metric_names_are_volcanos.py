"""The names and labels that dashboards and alerts made for Volcano ask for, written out by hand."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families

from tests.unit.observe.scraping import value
from volcano_py.observe.metrics import CATALOGUE, MetricKind, Metrics

QUEUE = ("queue_name",)
QUEUE_AND_RESOURCE = ("queue_name", "resource")
JOB = ("job_name", "queue", "job_namespace")

VOLCANO = {
    "e2e_scheduling_latency_milliseconds": (MetricKind.HISTOGRAM, ()),
    "open_session_duration_milliseconds": (MetricKind.HISTOGRAM, ()),
    "e2e_job_scheduling_latency_milliseconds": (MetricKind.HISTOGRAM, ()),
    "plugin_scheduling_latency_milliseconds": (MetricKind.HISTOGRAM, ("plugin", "OnSession")),
    "action_scheduling_latency_milliseconds": (MetricKind.HISTOGRAM, ("action",)),
    "task_scheduling_latency_milliseconds": (MetricKind.HISTOGRAM, ("stage",)),
    "scheduling_stage_duration_milliseconds": (MetricKind.HISTOGRAM, ("stage",)),
    "controller_job_to_pod_creation_latency_milliseconds": (MetricKind.HISTOGRAM, ()),
    "e2e_job_scheduling_duration": (MetricKind.GAUGE, JOB),
    "e2e_job_scheduling_start_time": (MetricKind.GAUGE, JOB),
    "e2e_job_scheduling_last_time": (MetricKind.GAUGE, JOB),
    "pod_preemption_victims": (MetricKind.GAUGE, ()),
    "unschedule_task_count": (MetricKind.GAUGE, ("job_id",)),
    "unschedule_job_count": (MetricKind.GAUGE, ()),
    "unschedule_job_counts": (MetricKind.GAUGE, ()),
    "job_share": (MetricKind.GAUGE, ("job_ns", "job_id")),
    "namespace_share": (MetricKind.GAUGE, ("namespace_name",)),
    "namespace_weight": (MetricKind.GAUGE, ("namespace_name",)),
    "namespace_weighted_share": (MetricKind.GAUGE, ("namespace_name",)),
    "goroutines": (MetricKind.GAUGE, ("operation",)),
    "schedule_attempts_total": (MetricKind.COUNTER, ("result",)),
    "total_preemption_attempts": (MetricKind.UNTYPED, ()),
    "eviction_transactions_total": (MetricKind.COUNTER, ("action",)),
    "job_retry_counts": (MetricKind.UNTYPED, ("job_id",)),
    "queue_share": (MetricKind.GAUGE, QUEUE),
    "queue_weight": (MetricKind.GAUGE, QUEUE),
    "queue_overused": (MetricKind.GAUGE, QUEUE),
    "queue_capacity_mill_cpu": (MetricKind.GAUGE, QUEUE),
    "queue_real_capacity_mill_cpu": (MetricKind.GAUGE, QUEUE),
    **{
        f"queue_{word}_{unit}": (MetricKind.GAUGE, QUEUE_AND_RESOURCE if unit == "scalar_resources" else QUEUE)
        for word in ("allocated", "request", "deserved", "capacity", "real_capacity", "inqueue")
        for unit in ("milli_cpu", "memory_bytes", "scalar_resources")
    },
    **{
        f"queue_pod_group_{phase}_count": (MetricKind.GAUGE, QUEUE)
        for phase in ("inqueue", "pending", "running", "unknown", "completed")
    },
}
PER_JOB = {
    "e2e_job_scheduling_duration",
    "e2e_job_scheduling_start_time",
    "e2e_job_scheduling_last_time",
    "unschedule_task_count",
    "job_share",
    "job_retry_counts",
}
ALL = [definition for section in CATALOGUE for definition in section.definitions]


def test_every_metric_of_volcano_is_there_with_its_type_and_labels() -> None:
    ours = {
        definition.name.removeprefix("volcano_"): (definition.kind, definition.labels)
        for definition in ALL
        if definition.is_volcano
    }
    assert ours == VOLCANO


def test_every_metric_has_one_definition_and_the_prefix() -> None:
    names = [definition.name for definition in ALL]
    assert len(names) == len(set(names))
    assert all(name.startswith("volcano_") for name in names)


@pytest.mark.parametrize("per_job", [False, True])
def test_the_scrape_has_exactly_the_metrics_that_are_defined(per_job: bool) -> None:
    metrics = Metrics(per_job=per_job)
    scraped = {
        (family.name, family.type, family.documentation)
        for family in metrics.registry.collect()
        if family.name.startswith("volcano_")
    }
    defined = {
        (definition.name.removesuffix("_total"), definition.kind.value, definition.text)
        for definition in ALL
        if per_job or not definition.is_per_job
    }
    assert scraped == defined


def test_what_has_a_series_for_each_job_is_off_unless_asked_for() -> None:
    assert {definition.name.removeprefix("volcano_") for definition in ALL if definition.is_per_job} == PER_JOB
    text = Metrics().render()[0].decode()
    assert [name for name in PER_JOB if f"volcano_{name}" in text] == []


def test_every_duration_of_volcano_has_a_sibling_in_seconds() -> None:
    milli = [d for d in ALL if d.kind is MetricKind.HISTOGRAM and d.name.endswith("_milliseconds")]
    seconds = [d.buckets for d in ALL if d.kind is MetricKind.HISTOGRAM and d.name.endswith("_seconds")]
    assert len(milli) == 8
    assert all(tuple(bound / 1000 for bound in definition.buckets) in seconds for definition in milli)


def test_queries_over_volcanos_buckets_keep_their_meaning() -> None:
    """All bounds that Volcano has are among ours: 5 ms × 2^n, n < 15, and 32 ms × 2^n, n < 10, for jobs."""
    for definition in ALL:
        if definition.is_volcano and definition.kind is MetricKind.HISTOGRAM:
            is_job = definition.name == "volcano_e2e_job_scheduling_latency_milliseconds"
            bounds = {32.0 * 2**n for n in range(10)} if is_job else {5.0 * 2**n for n in range(15)}
            assert bounds <= set(definition.buckets), definition.name
            assert sorted(definition.buckets) == list(definition.buckets)


def test_a_counter_without_total_keeps_its_name_and_its_value(metrics: Metrics) -> None:
    metrics.effects.evictions_committed("preempt", victims=3)
    metrics.effects.evictions_committed("gangpreempt", victims=2)
    metrics.effects.evictions_committed("reclaim", victims=1)
    assert value(metrics, "total_preemption_attempts") == 2
    assert value(metrics, "preemption_attempts_total") == 2
    assert value(metrics, "pod_preemption_victims") == 2
    assert "# TYPE volcano_total_preemption_attempts untyped" in metrics.render()[0].decode()


def test_two_processes_worth_of_metrics_do_not_meet_in_a_global_registry() -> None:
    first, second = Metrics(), Metrics(CollectorRegistry())
    first.daemon.cycle_failed()
    assert value(first, "cycles_total", outcome="failed") == 1
    assert value(second, "cycles_total", outcome="failed") == 0


def test_openmetrics_is_served_on_request(metrics: Metrics) -> None:
    metrics.effects.evictions_committed("preempt", victims=1)
    body, content_type = metrics.render("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    families = {family.name for family in openmetrics_families(body.decode())}  # type: ignore[no-untyped-call]
    assert {"volcano_schedule_attempts", "volcano_total_preemption_attempts", "volcano_config_valid"} <= families


def test_no_series_for_creation_times(metrics: Metrics) -> None:
    assert "_created" not in metrics.render()[0].decode()


def test_the_process_reports_its_memory_and_its_build(metrics: Metrics) -> None:
    text = metrics.render()[0].decode()
    assert "process_resident_memory_bytes " in text
    assert "\nvolcano_build_info{" in text
