"""Counters and latencies: each verb of the daemon moves what it should, in the right unit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import inf

import pytest

from tests.unit.observe.scraping import value
from volcano_py.api.report import CycleReport, NamespaceShare
from volcano_py.observe.metrics import Metrics, Outcome, Reload, SchedulingStage, TaskStage
from volcano_py.observe.metrics.jobs import MOST_JOBS, PerJob

Report = Callable[..., CycleReport]


def test_a_cycle_is_reported_in_milliseconds_and_in_seconds(metrics: Metrics, report: Report) -> None:
    metrics.observe_cycle(
        report(
            duration=0.25,
            snapshot_duration=0.004,
            open_duration=0.02,
            actions={"allocate": 0.2},
            plugins_open={"drf": 0.01},
            plugins_close={"gang": 0.003},
            predicate_seconds=(0.001, 0.002),
            scoring_seconds=(0.004,),
        )
    )
    assert value(metrics, "e2e_scheduling_latency_milliseconds_sum") == 250
    assert value(metrics, "cycle_duration_seconds_sum") == 0.25
    assert value(metrics, "snapshot_duration_seconds_sum") == 0.004
    assert value(metrics, "open_session_duration_milliseconds_sum") == 20
    assert value(metrics, "open_session_duration_seconds_sum") == 0.02
    assert value(metrics, "action_scheduling_latency_milliseconds_sum", action="allocate") == 200
    assert value(metrics, "action_duration_seconds_sum", action="allocate") == 0.2
    opened = {"plugin": "drf", "OnSession": "OnSessionOpen"}
    assert value(metrics, "plugin_scheduling_latency_milliseconds_sum", **opened) == 10
    assert value(metrics, "plugin_duration_seconds_sum", plugin="gang", point="OnSessionClose") == 0.003
    assert value(metrics, "scheduling_stage_duration_milliseconds_sum", stage="Predicate") == 3
    assert value(metrics, "scheduling_stage_duration_seconds_count", stage="Scoring") == 1


def test_one_thread_may_scrape_while_another_counts(metrics: Metrics, report: Report) -> None:
    """`HealthServer` renders in a thread; label values come with plugins and actions."""
    reports = [report(plugins_open={f"plugin-{number}": 0.01}) for number in range(200)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as threads:
            counting = threads.submit(lambda: [*map(metrics.observe_cycle, reports)])
            while not counting.done():
                metrics.render()
            counting.result()
    finally:
        sys.setswitchinterval(interval)
    assert value(metrics, "plugin_duration_seconds_count", plugin="plugin-199", point="OnSessionOpen") == 1


def test_cycles_add_up(metrics: Metrics, report: Report) -> None:
    metrics.observe_cycle(report(binds=5, evictions=2, pipelined=1, unschedulable_tasks=4, plugin_errors={"mine": 2}))
    metrics.observe_cycle(report(binds=1, plugin_errors={"mine": 1}, action_errors={"brawl": 2}))
    metrics.daemon.cycle_failed()
    assert value(metrics, "decisions_total", decision="bind") == 6
    assert value(metrics, "decisions_total", decision="evict") == 2
    assert value(metrics, "decisions_total", decision="pipeline") == 1
    assert value(metrics, "schedule_attempts_total", result="unschedulable") == 4
    assert value(metrics, "plugin_errors_total", plugin="mine") == 3
    assert value(metrics, "action_errors_total", action="brawl") == 2
    assert value(metrics, "cycles_total", outcome="completed") == 2
    assert value(metrics, "cycles_total", outcome="failed") == 1
    assert value(metrics, "last_cycle_timestamp_seconds") == 1_000_000


@pytest.mark.parametrize(
    ("outcome", "scheduled", "errors"),
    [
        (Outcome.DONE, 1, 0),
        (Outcome.GONE, 0, 0),
        (Outcome.CONFLICT, 0, 1),
        (Outcome.REFUSED, 0, 1),
        (Outcome.FAILED, 0, 1),
    ],
)
def test_an_attempt_is_judged_by_what_became_of_the_binding(
    metrics: Metrics, outcome: Outcome, scheduled: int, errors: int
) -> None:
    metrics.effects.bound(outcome, 0.5)
    assert value(metrics, "schedule_attempts_total", result="scheduled") == scheduled
    assert value(metrics, "schedule_attempts_total", result="error") == errors
    assert value(metrics, "binds_total", outcome=outcome.value) == 1
    assert value(metrics, "bind_duration_seconds_sum") == 0.5


def test_an_action_that_has_evicted_nothing_is_there(metrics: Metrics) -> None:
    """increase() over a series that begins with 1 is 0."""
    for action in ("preempt", "reclaim", "gangpreempt", "gangreclaim", "shuffle"):
        assert value(metrics, "evictions_total", action=action, outcome="done") == 0


def test_evictions_events_and_depths(metrics: Metrics) -> None:
    metrics.effects.evicted("preempt", Outcome.DONE)
    metrics.effects.evictions_committed("preempt", 2)
    metrics.effects.evictions_committed("shuffle", 5)
    metrics.effects.queue_depth("bind", 17)
    metrics.effects.in_flight("binding", 4)
    metrics.effects.events_emitted("Warning", 1)
    metrics.effects.events_dropped("repeated", 3)
    assert value(metrics, "evictions_total", action="preempt", outcome="done") == 1
    assert value(metrics, "eviction_transactions_total", action="preempt") == 1
    assert value(metrics, "pod_preemption_victims") == 2
    assert value(metrics, "effects_queue_depth", kind="bind") == 17
    assert value(metrics, "goroutines", operation="binding") == 4
    assert value(metrics, "events_emitted_total", type="Warning") == 1
    assert value(metrics, "events_dropped_total", reason="repeated") == 3


def test_informers(metrics: Metrics) -> None:
    metrics.intake.synced("Pod", True)
    metrics.intake.synced("Node", False)
    metrics.intake.objects("Pod", 12)
    metrics.intake.relisted("Pod")
    metrics.intake.bad_object("Pod")
    metrics.intake.watch_events("Pod", 1)
    metrics.intake.watch_events("Pod", 2)
    assert value(metrics, "informer_synced", kind="Pod") == 1
    assert value(metrics, "informer_synced", kind="Node") == 0
    assert value(metrics, "informer_objects", kind="Pod") == 12
    assert value(metrics, "informer_relists_total", kind="Pod") == 1
    assert value(metrics, "informer_bad_objects_total", kind="Pod") == 1
    assert value(metrics, "watch_events_total", kind="Pod") == 3


def test_a_broken_configuration_clears_the_flag_and_a_good_one_sets_it(metrics: Metrics) -> None:
    assert value(metrics, "config_valid") == 0
    metrics.daemon.config_read(Reload.APPLIED, valid=True)
    assert value(metrics, "config_valid") == 1
    assert value(metrics, "config_last_applied_timestamp_seconds") == 1_000_000
    metrics.daemon.config_read(Reload.INVALID, valid=False)
    assert value(metrics, "config_valid") == 0
    metrics.daemon.config_read(Reload.UNCHANGED, valid=False)
    assert value(metrics, "config_valid") == 0
    metrics.daemon.config_read(Reload.UNCHANGED, valid=True)
    assert value(metrics, "config_valid") == 1
    assert value(metrics, "config_reloads_total", outcome="invalid") == 1
    assert value(metrics, "config_reloads_total", outcome="applied") == 1


def test_an_audit_reports_its_drift(metrics: Metrics) -> None:
    metrics.daemon.audited(0)
    metrics.daemon.audited(2)
    assert value(metrics, "state_drift") == 2
    assert value(metrics, "state_audits_total") == 2


def test_leading_is_a_change_only_when_it_changes(metrics: Metrics) -> None:
    metrics.set_leader(False)
    metrics.set_leader(True)
    metrics.set_leader(True)
    assert value(metrics, "leader") == 1
    assert value(metrics, "leader_changes_total") == 1


def test_stages_and_a_clock_that_lies_behind(metrics: Metrics) -> None:
    metrics.latencies.task_reached(TaskStage.BOUND, 1.5)
    metrics.latencies.task_reached(TaskStage.BOUND, -0.5)
    metrics.latencies.stage_took(SchedulingStage.PREDICATE, 0.25)
    metrics.latencies.pod_created_for_job(0.5)
    assert value(metrics, "task_scheduling_latency_milliseconds_sum", stage="Bound") == 1500
    assert value(metrics, "task_scheduling_duration_seconds_count", stage="Bound") == 2
    assert value(metrics, "scheduling_stage_duration_milliseconds_sum", stage="Predicate") == 250
    assert value(metrics, "controller_job_to_pod_creation_latency_milliseconds_sum") == 500


def test_namespace_shares_are_replaced_as_a_whole(metrics: Metrics, report: Report) -> None:
    metrics.observe_cycle(report(namespaces={"ml": NamespaceShare(0.5, 2), "gone": NamespaceShare(0.1)}))
    shares = {"ml": NamespaceShare(0.6, 2), "zero": NamespaceShare(0.1, 0)}
    metrics.observe_cycle(report(namespaces=shares, job_shares={"ml/a": 0.3}))
    assert value(metrics, "namespace_share", namespace_name="ml") == 0.6
    assert value(metrics, "namespace_weight", namespace_name="ml") == 2
    assert value(metrics, "namespace_weighted_share", namespace_name="ml") == 0.3
    assert value(metrics, "namespace_weighted_share", namespace_name="zero") == inf
    assert value(metrics, "namespace_share", namespace_name="gone") is None
    assert value(metrics, "job_share", job_ns="ml", job_id="a") is None


def test_a_job_is_measured_when_its_gang_is_whole_and_named_only_when_asked_for(metrics: Metrics) -> None:
    metrics.job_started("ml", "a", "q")
    metrics.job_placed("ml", "a", "q", created=999_990.0)
    metrics.job_retried("ml", "a")
    metrics.job_gone("ml", "a")
    assert value(metrics, "e2e_job_scheduling_latency_milliseconds_sum") == 10_000
    assert value(metrics, "job_scheduling_duration_seconds_count") == 1
    assert b"job_namespace" not in metrics.render()[0]


def test_per_job_gauges_as_volcano_has_them_until_the_job_is_gone(report: Report) -> None:
    now = iter([100.0, 150.0, 175.0, 200.0])
    metrics = Metrics(per_job=True, clock=lambda: next(now))
    job = {"job_name": "a", "queue": "q", "job_namespace": "ml"}
    metrics.job_started("ml", "a", "q")
    metrics.job_started("ml", "a", "q")
    metrics.job_placed("ml", "a", "q", created=75.0)
    metrics.job_retried("ml", "a")
    metrics.observe_cycle(report(job_shares={"ml/a": 0.3}))
    assert value(metrics, "e2e_job_scheduling_start_time", **job) == 100
    assert value(metrics, "e2e_job_scheduling_last_time", **job) == 175
    assert value(metrics, "e2e_job_scheduling_duration", **job) == 100_000
    assert value(metrics, "job_retry_counts", job_id="ml/a") == 1
    assert value(metrics, "job_share", job_ns="ml", job_id="a") == 0.3
    metrics.job_gone("ml", "a")
    assert value(metrics, "e2e_job_scheduling_last_time", **job) is None
    assert value(metrics, "job_retry_counts", job_id="ml/a") is None


def test_of_jobs_that_are_never_forgotten_the_oldest_are_dropped() -> None:
    jobs = PerJob()
    for number in range(MOST_JOBS + 10):
        jobs.started(("ml", f"j{number}"), "q", 0.0)
    names = {sample.labels["job_name"] for family in jobs.collect() for sample in family.samples}
    assert len(names) == MOST_JOBS
    assert "j9" not in names
    assert "j10" in names
