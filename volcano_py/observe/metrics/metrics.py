"""All metrics of one process behind one object, and their rendering for a scrape."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector

from volcano_py.api.report import CycleReport
from volcano_py.observe.build import build_info
from volcano_py.observe.metrics import admission, daemon, effects, intake, jobs, latency, network, queues
from volcano_py.observe.metrics.definition import Definition


class Section(msgspec.Struct, frozen=True):
    """Definitions that belong together, as the reference page shows them."""

    title: str
    definitions: tuple[Definition, ...]


CATALOGUE: Final = (
    Section("Latencies", latency.DEFINITIONS),
    Section("Queues", queues.QUEUE_DEFINITIONS),
    Section("What waits, and why", queues.PENDING_DEFINITIONS),
    Section("Namespaces and jobs", jobs.DEFINITIONS),
    Section("Jobs in the network", network.DEFINITIONS),
    Section("Decisions and their outcomes", effects.DEFINITIONS),
    Section("Informers", intake.DEFINITIONS),
    Section("Admission webhooks", admission.DEFINITIONS),
    Section("The process", daemon.DEFINITIONS),
)


class Metrics:
    """Give each process (and each test) its own.

    Counting is cheap and allowed from any thread; rendering takes as long as there are queues and belongs into a
    thread of its own (`HealthServer` does so).

    Attributes:
        latencies, effects, intake, admission, daemon: what the rest of the daemon reports to, by concern.
    """

    def __init__(
        self,
        registry: CollectorRegistry | None = None,
        *,
        per_job: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`per_job` adds Volcano's gauges with a series for each job; `clock` returns seconds since 1970."""
        self.registry = registry if registry is not None else CollectorRegistry()
        self._clock = clock
        self.latencies = latency.Latencies(self.registry)
        self.effects = effects.EffectMetrics(self.registry)
        self.intake = intake.IntakeMetrics(self.registry)
        self.admission = admission.AdmissionMetrics(self.registry)
        self.daemon = daemon.DaemonMetrics(self.registry, build_info(), clock)
        self._last_report = queues.LastReport(per_job=per_job)
        self._shares = jobs.Shares(per_job=per_job)
        self._network = network.Network()
        self._per_job = jobs.PerJob() if per_job else None
        self.registry.register(self._last_report)
        self.registry.register(self._shares)
        self.registry.register(self._network)
        if self._per_job is not None:
            self.registry.register(self._per_job)
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    def observe_cycle(self, report: CycleReport) -> None:
        """Publish what a cycle did; its queues and pending PodGroups are what scrapes show until the next."""
        self.latencies.observe_cycle(report)
        self.effects.decided(
            binds=report.binds,
            evictions=report.evictions,
            pipelined=report.pipelined,
            unschedulable=report.unschedulable_tasks,
        )
        self.daemon.cycle_completed(report.plugin_errors, report.action_errors)
        self._last_report.publish(report)
        self._shares.publish(report.namespaces, report.job_shares)
        self._network.publish(report.network)

    def set_leader(self, is_leader: bool) -> None:
        """A replica that does not lead shows no queues: its last report would be shown as today's."""
        self.daemon.leading(is_leader)
        if not is_leader:
            self._last_report.publish(None)
            self._shares.publish({}, {})
            self._network.publish({})

    @property
    def shows_jobs(self) -> bool:
        """Whether there are series for each single job."""
        return self._per_job is not None

    def job_started(self, namespace: str, name: str, queue: str) -> None:
        """A cycle looks at this PodGroup; calling it again changes nothing."""
        if self._per_job is not None:
            self._per_job.started((namespace, name), queue, self._clock())

    def job_placed(self, namespace: str, name: str, queue: str, *, created: float) -> None:
        """Pods of the PodGroup, which was `created` then (seconds since 1970), were placed, and its gang is whole."""
        now = self._clock()
        self.latencies.job_scheduled(max(0.0, now - created))
        if self._per_job is not None:
            self._per_job.placed((namespace, name), queue, created, now)

    def job_retried(self, namespace: str, name: str) -> None:
        if self._per_job is not None:
            self._per_job.retried((namespace, name))

    def job_gone(self, namespace: str, name: str) -> None:
        if self._per_job is not None:
            self._per_job.forget((namespace, name))

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """The scrape's body and its content type, for the formats named in the Accept header."""
        encode, content_type = choose_encoder(accept)
        return encode(_WithoutCreated(self.registry)), content_type


class _WithoutCreated:
    """The library adds the creation time of every counter and histogram as a series of its own; they are left out."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        for metric in self._registry.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric
