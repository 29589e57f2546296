"""Shares of namespaces, and the gauges that Volcano has for each single job.

A series for each job is what made schedulers and Prometheus servers run out of memory, so these are off unless asked
for, keep the most recent jobs only and forget a job that is gone.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from prometheus_client.core import Metric

from volcano_py.api.report import NamespaceShare
from volcano_py.observe.metrics.definition import PREFIX, Definition, MetricKind

MOST_JOBS: Final = 10_000
_MILLI: Final = 1000.0


def _gauge(name: str, text: str, *labels: str, per_job: bool = True, kind: MetricKind = MetricKind.GAUGE) -> Definition:
    return Definition(name=PREFIX + name, kind=kind, text=text, labels=labels, is_volcano=True, is_per_job=per_job)


_JOB_LABELS: Final = ("job_name", "queue", "job_namespace")
_DURATION: Final = _gauge(
    "e2e_job_scheduling_duration",
    "From the PodGroup's creation until its last placement, in milliseconds.",
    *_JOB_LABELS,
)
_START: Final = _gauge(
    "e2e_job_scheduling_start_time", "When the PodGroup was first evaluated, in seconds since 1970.", *_JOB_LABELS
)
_LAST: Final = _gauge(
    "e2e_job_scheduling_last_time", "When a pod of it was last placed, in seconds since 1970.", *_JOB_LABELS
)
_RETRIES: Final = _gauge(
    "job_retry_counts",
    "Cycles that left the PodGroup waiting; job_id is namespace/name.",
    "job_id",
    kind=MetricKind.UNTYPED,
)
_JOB_SHARE: Final = _gauge("job_share", "The job's dominant share; job_id is its name.", "job_ns", "job_id")
_NAMESPACE_SHARE: Final = _gauge("namespace_share", "The namespace's dominant share.", "namespace_name", per_job=False)
_NAMESPACE_WEIGHT: Final = _gauge("namespace_weight", "The namespace's weight.", "namespace_name", per_job=False)
_WEIGHTED_SHARE: Final = _gauge(
    "namespace_weighted_share", "The namespace's share divided by its weight.", "namespace_name", per_job=False
)

DEFINITIONS: Final = (
    _NAMESPACE_SHARE,
    _NAMESPACE_WEIGHT,
    _WEIGHTED_SHARE,
    _JOB_SHARE,
    _DURATION,
    _START,
    _LAST,
    _RETRIES,
)

JobKey = tuple[str, str]
"""Namespace and name of a PodGroup."""


class _Job(msgspec.Struct):
    queue: str = ""
    created: float = 0.0
    started: float | None = None
    last: float | None = None
    retries: int = 0


class Shares:
    """A collector over the shares of the last cycle, replaced as a whole."""

    def __init__(self, *, per_job: bool) -> None:
        self._per_job = per_job
        self._namespaces: Mapping[str, NamespaceShare] = {}
        self._jobs: Mapping[str, float] = {}

    def publish(self, namespaces: Mapping[str, NamespaceShare], jobs: Mapping[str, float]) -> None:
        """By namespace, and by namespace/name of the PodGroup. Kept, not copied: it must not be changed afterwards."""
        self._namespaces = namespaces
        self._jobs = jobs if self._per_job else {}

    def describe(self) -> Iterable[Metric]:
        definitions = (_NAMESPACE_SHARE, _NAMESPACE_WEIGHT, _WEIGHTED_SHARE)
        return [definition.family() for definition in (*definitions, *((_JOB_SHARE,) if self._per_job else ()))]

    def collect(self) -> Iterable[Metric]:
        share, weight, weighted = _NAMESPACE_SHARE.family(), _NAMESPACE_WEIGHT.family(), _WEIGHTED_SHARE.family()
        for name, namespace in sorted(self._namespaces.items()):
            share.add(namespace.share, name)
            weight.add(namespace.weight, name)
            weighted.add(namespace.weighted, name)
        if not self._per_job:
            return [share, weight, weighted]
        jobs = _JOB_SHARE.family()
        for job, value in sorted(self._jobs.items()):
            jobs.add(value, *job.split("/", 1))
        return [share, weight, weighted, jobs]


class PerJob:
    """A collector over the most recent `MOST_JOBS` jobs. The event loop writes, the scrape's thread reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: OrderedDict[JobKey, _Job] = OrderedDict()

    def started(self, key: JobKey, queue: str, now: float) -> None:
        """The job was looked at, at `now` (seconds since 1970); only the first time counts."""
        with self._lock:
            job = self._touch(key)
            job.queue = queue
            if job.started is None:
                job.started = now

    def placed(self, key: JobKey, queue: str, created: float, now: float) -> None:
        with self._lock:
            job = self._touch(key)
            job.queue, job.created, job.last = queue, created, now

    def retried(self, key: JobKey) -> None:
        with self._lock:
            self._touch(key).retries += 1

    def forget(self, key: JobKey) -> None:
        with self._lock:
            self._jobs.pop(key, None)

    def describe(self) -> Iterable[Metric]:
        return [definition.family() for definition in (_DURATION, _START, _LAST, _RETRIES)]

    def collect(self) -> Iterable[Metric]:
        duration, start, last, retries = (each.family() for each in (_DURATION, _START, _LAST, _RETRIES))
        with self._lock:
            for (namespace, name), job in self._jobs.items():
                labels = (name, job.queue, namespace)
                if job.started is not None:
                    start.add(job.started, *labels)
                if job.last is not None:
                    last.add(job.last, *labels)
                    duration.add(max(job.last - job.created, 0.0) * _MILLI, *labels)
                if job.retries:
                    retries.add(job.retries, f"{namespace}/{name}")
        return [duration, start, last, retries]

    def _touch(self, key: JobKey) -> _Job:
        job = self._jobs.setdefault(key, _Job())
        self._jobs.move_to_end(key)
        if len(self._jobs) > MOST_JOBS:
            self._jobs.popitem(last=False)
        return job
