"""What the parts count themselves is in the metrics at a scrape, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.registries import checked_registry
from volcano_py.config import Reloader
from volcano_py.daemon.observing.gauges import Gauges, count_reload
from volcano_py.observe.metrics import Metrics


class Parts:
    """An informer of pods, a controller's own of jobs, and the writers, with numbers that a test sets."""

    def __init__(self) -> None:
        self.unsynced = ["Pod"]
        self.pods, self.jobs = (SimpleNamespace(objects=0, events=0, lists=0, behind=0.0) for _ in range(2))
        idle = SimpleNamespace(queued=0, in_flight=0, waiting=0)
        self.events = SimpleNamespace(waiting=0, written_of={}, counted=0, replaced=0, limited=0, dropped=0, failed=0)
        self.binder = SimpleNamespace(queued=7, in_flight=3)
        self.requests: Counter[tuple[str, int]] = Counter()
        self.cycle_running = self.queues_behind = 0.0
        self.live = SimpleNamespace(binder=self.binder, evictor=idle, status=idle, events=self.events)


@pytest.fixture
def parts() -> Parts:
    return Parts()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def gauges(parts: Parts, metrics: Metrics) -> Gauges:
    informers: Any = SimpleNamespace(unsynced=parts.unsynced, stats=lambda: {"Pod": parts.pods})
    of_jobs: Any = SimpleNamespace(unsynced=[], stats=lambda: {"VolcanoJob": parts.jobs})
    live: Any = SimpleNamespace(stats=lambda: parts.live)
    return Gauges(
        metrics,
        (informers, of_jobs),
        live,
        requests=parts.requests,
        cycle_running=lambda: parts.cycle_running,
        queues_behind=lambda: parts.queues_behind,
    )


def value(metrics: Metrics, name: str, **labels: str) -> float:
    return metrics.registry.get_sample_value(f"volcano_{name}", labels) or 0.0


def test_a_list_after_the_first_is_a_list_again(gauges: Gauges, parts: Parts, metrics: Metrics) -> None:
    found = []
    for parts.pods.lists in (0, 1, 1, 3):
        gauges.render("")
        found.append(value(metrics, "informer_relists_total", kind="Pod"))
    assert found == [0, 0, 0, 2]


def test_for_how_long_a_kind_has_not_been_followed_is_shown(gauges: Gauges, parts: Parts, metrics: Metrics) -> None:
    parts.pods.behind, parts.queues_behind = 7.5, 2.5
    gauges.render("")
    assert value(metrics, "informer_behind_seconds", kind="Pod") == 7.5
    assert value(metrics, "informer_behind_seconds", kind="Queue") == 2.5


def test_a_controllers_own_informer_is_counted_too(gauges: Gauges, parts: Parts, metrics: Metrics) -> None:
    parts.jobs.objects, parts.jobs.events, parts.jobs.lists = 3, 7, 2
    gauges.render("")
    assert value(metrics, "watch_events_total", kind="VolcanoJob") == 7
    assert value(metrics, "informer_relists_total", kind="VolcanoJob") == 1
    assert value(metrics, "informer_synced", kind="VolcanoJob") == 1
    assert value(metrics, "informer_synced", kind="Pod") == 0


def test_running_numbers_are_added_once(gauges: Gauges, parts: Parts, metrics: Metrics) -> None:
    parts.pods.events, parts.events.written_of = 40, {"Normal": 5, "Warning": 2}
    gauges.render("")
    gauges.render("")
    assert value(metrics, "watch_events_total", kind="Pod") == 40
    assert value(metrics, "events_emitted_total", type="Normal") == 5
    assert value(metrics, "events_emitted_total", type="Warning") == 2
    parts.pods.events = 41
    gauges.render("")
    assert value(metrics, "watch_events_total", kind="Pod") == 41


def test_events_without_an_object_are_counted_by_reason(gauges: Gauges, parts: Parts, metrics: Metrics) -> None:
    numbers: Iterator[int] = count(1)
    for name in ("counted", "replaced", "limited", "dropped", "failed"):
        setattr(parts.events, name, next(numbers))
    gauges.render("")
    reasons = ("repeated", "superseded", "throttled", "queue full", "failed")
    assert [value(metrics, "events_dropped_total", reason=reason) for reason in reasons] == [1, 2, 3, 4, 5]


def test_what_waits_and_what_is_under_way_is_reported_as_it_is(gauges: Gauges, parts: Parts, metrics: Metrics) -> None:
    gauges.render("")
    assert value(metrics, "effects_queue_depth", kind="bind") == 7
    assert value(metrics, "goroutines", operation="bind") == 3
    assert value(metrics, "informer_synced", kind="Pod") == 0
    parts.binder.queued = 0
    parts.unsynced.clear()
    gauges.render("")
    assert value(metrics, "effects_queue_depth", kind="bind") == 0
    assert value(metrics, "informer_synced", kind="Pod") == 1


def test_requests_are_counted_by_what_became_of_them(gauges: Gauges, parts: Parts, metrics: Metrics) -> None:
    parts.requests.update({("POST", 201): 3, ("GET", 0): 1})
    gauges.render("")
    parts.requests["POST", 201] += 2
    gauges.render("")
    assert value(metrics, "api_requests_total", verb="POST", status="201") == 5
    assert value(metrics, "api_requests_total", verb="GET", status="0") == 1


def test_a_cycle_that_does_not_end_is_seen(gauges: Gauges, parts: Parts, metrics: Metrics) -> None:
    seen = []
    for parts.cycle_running in (0.0, 42.5, 0.0):
        gauges.render("")
        seen.append(value(metrics, "cycle_running_seconds"))
    assert seen == [0, 42.5, 0]


def test_a_broken_configuration_that_is_read_again_is_still_broken(metrics: Metrics) -> None:
    """The mounted file brings the same edit as the ConfigMap, and each new list brings it once more."""
    reloader = Reloader(checked_registry().catalogue())
    seen = []
    for text, origin in (
        ("actions: allocate", "ConfigMap"),
        ("actions: alocate", "ConfigMap"),
        ("actions: alocate", "file"),
        ("actions: alocate", "ConfigMap"),
        ("actions: allocate", "ConfigMap"),
        ("actions: allocate", "file"),
    ):
        count_reload(metrics, reloader.offer(text, origin))
        seen.append(value(metrics, "config_valid"))
    assert seen == [1, 0, 0, 0, 1, 1]
    assert value(metrics, "config_reloads_total", outcome="invalid") == 1
