"""Copies numbers that the parts keep themselves into the metrics before each scrape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.cluster.kubernetes.writing.live import LiveCluster
from volcano_py.config import Outcome, OutcomeKind
from volcano_py.observe.metrics import Metrics
from volcano_py.observe.metrics.daemon import Reload

_RELOADS: Final = {
    OutcomeKind.ACCEPTED: Reload.APPLIED,
    OutcomeKind.UNCHANGED: Reload.UNCHANGED,
    OutcomeKind.REJECTED: Reload.INVALID,
}


def count_reload(metrics: Metrics, outcome: Outcome) -> None:
    """Count the outcome of reading a configuration."""
    metrics.daemon.config_read(_RELOADS[outcome.kind], valid=outcome.valid)


class Gauges:
    """Brings the metrics up to date before each scrape."""

    def __init__(
        self,
        metrics: Metrics,
        informers: Sequence[Informers],
        live: LiveCluster,
        *,
        requests: Mapping[tuple[str, int], int],
        cycle_running: Callable[[], float],
        queues_behind: Callable[[], float],
    ) -> None:
        """No kind may be in two of the `informers`. `requests` are those of the client, by verb and status;
        `cycle_running` returns for how many seconds the cycle under way has been running, `queues_behind` for how many
        queues, which no informer follows, have been out of date."""
        self._metrics, self._informers, self._live = metrics, informers, live
        self._requests, self._cycle_running, self._queues_behind = requests, cycle_running, queues_behind
        self._counted: dict[tuple[str, str], int] = {}

    def render(self, accept: str) -> tuple[bytes, str]:
        """The page, and its content type."""
        self._carry_over()
        return self._metrics.render(accept)

    def _carry_over(self) -> None:
        intake, effects = self._metrics.intake, self._metrics.effects
        unsynced = {kind for each in self._informers for kind in each.unsynced}
        for kind, stats in (found for each in self._informers for found in each.stats().items()):
            intake.synced(kind, kind not in unsynced)
            intake.objects(kind, stats.objects)
            intake.behind(kind, stats.behind)
            intake.watch_events(kind, self._more(kind, "events", stats.events))
            # The first list is none of those that a watch has failed to spare.
            intake.relisted(kind, self._more(kind, "lists", max(stats.lists - 1, 0)))
        intake.behind("Queue", self._queues_behind())
        self._metrics.daemon.cycle_running(self._cycle_running())
        for (verb, status), count in list(self._requests.items()):
            effects.requested(verb, status, self._more(verb, str(status), count))
        live = self._live.stats()
        effects.queue_depth("bind", live.binder.queued)
        effects.queue_depth("evict", live.evictor.queued)
        effects.queue_depth("status", live.status.waiting)
        effects.queue_depth("event", live.events.waiting)
        effects.in_flight("bind", live.binder.in_flight)
        effects.in_flight("evict", live.evictor.in_flight)
        effects.in_flight("status", live.status.in_flight)
        for event_type, written in live.events.written_of.items():
            effects.events_emitted(event_type, self._more("event", event_type, written))
        for reason, left_out in (
            ("repeated", live.events.counted),
            ("superseded", live.events.replaced),
            ("throttled", live.events.limited),
            ("queue full", live.events.dropped),
            ("failed", live.events.failed),
        ):
            effects.events_dropped(reason, self._more("event", reason, left_out))

    def _more(self, what: str, number: str, now: int) -> int:
        """By how much a running number has grown since the last look."""
        before = self._counted.get((what, number), 0)
        self._counted[what, number] = now
        return max(now - before, 0)
