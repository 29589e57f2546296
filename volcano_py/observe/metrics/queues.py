"""What the last cycle saw: queues, what waits and why, worked out at each scrape.

Nothing is kept from one report to the next, so a queue that is gone leaves no series behind. Label values that people
can invent are bounded: queues must exist, and resources that no node has are limited in number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import Final

from prometheus_client.core import Metric

from volcano_py.api.report import Amounts, CycleReport, QueueReport
from volcano_py.observe.metrics.definition import PREFIX, Definition, Family, MetricKind

# Stands for every queue that PodGroups name and that does not exist; no queue can have this name.
MISSING_QUEUE: Final = "(not found)"
# Resource names that occur in requests alone: any pod can invent one.
_MOST_INVENTED: Final = 32
_MILLI: Final = 1000


class _Absent(Enum):
    """What it means that an amount has no entry for a resource."""

    ZERO = "."
    ZERO_WHERE_ANY = "; without a sample when no plugin works it out."
    UNLIMITED = "; without a sample where there is no limit."


class _Quantity:
    """One amount of a queue: Volcano's three gauges for it."""

    def __init__(
        self, word: str, field: str, text: str, absent: _Absent = _Absent.ZERO, *, misspelt: bool = False
    ) -> None:
        self._field = field
        self._absent = absent
        end = absent.value
        self.cpu = _queue_gauge(f"{word}_milli_cpu", f"{text}: CPU in millicores{end}")
        self.memory = _queue_gauge(f"{word}_memory_bytes", f"{text}: memory in bytes{end}")
        self.scalars = _queue_gauge(
            f"{word}_scalar_resources",
            f"{text}: other resources in thousandths, as Volcano counts them, and pods as a plain count{end}",
            "resource",
        )
        self.misspelt_cpu = (
            _queue_gauge(f"{word}_mill_cpu", f"The same as {self.cpu.name}, as Volcano's documents spell it.")
            if misspelt
            else None
        )

    @property
    def definitions(self) -> tuple[Definition, ...]:
        own = (self.cpu, self.memory, self.scalars)
        return (*own, self.misspelt_cpu) if self.misspelt_cpu else own

    def amounts(self, queue: QueueReport) -> Amounts:
        """With zeros for cpu and memory where leaving them out means zero."""
        amounts: Amounts = getattr(queue, self._field)
        if self._absent is _Absent.ZERO or (amounts and self._absent is _Absent.ZERO_WHERE_ANY):
            return {"cpu": 0, "memory": 0, **amounts}
        return amounts


def _queue_gauge(name: str, text: str, *more_labels: str, is_volcano: bool = True) -> Definition:
    return Definition(
        name=f"{PREFIX}queue_{name}",
        kind=MetricKind.GAUGE,
        text=text,
        labels=("queue_name", *more_labels),
        is_volcano=is_volcano,
    )


_QUANTITIES: Final = (
    _Quantity("allocated", "allocated", "What the queue's pods hold"),
    _Quantity("request", "request", "What the queue's pods hold and ask for"),
    _Quantity("deserved", "deserved", "What the queue is entitled to", _Absent.ZERO_WHERE_ANY),
    _Quantity("capacity", "capability", "The queue's capability", _Absent.UNLIMITED, misspelt=True),
    _Quantity(
        "real_capacity",
        "real_capability",
        "The queue's capability within what the others' guarantees leave",
        _Absent.UNLIMITED,
        misspelt=True,
    ),
    _Quantity("inqueue", "inqueue", "What is promised to admitted jobs that hold nothing yet"),
)
_SHARE: Final = _queue_gauge("share", "The queue's share: its largest ratio of allocated to deserved.")
_WEIGHT: Final = _queue_gauge("weight", "The queue's weight.")
_OVERUSED: Final = _queue_gauge("overused", "1 when the queue has more than it deserves, else 0.")
_PHASES: Final = {
    phase: _queue_gauge(f"pod_group_{phase.lower()}_count", f"PodGroups of the queue in phase {phase}.")
    for phase in ("Pending", "Inqueue", "Running", "Unknown", "Completed")
}
_AMOUNT_FIELDS: Final = (
    "allocated",
    "request",
    "deserved",
    "capability",
    "real_capability",
    "guarantee",
    "guarantee_not_kept",
    "inqueue",
)
_RESOURCES: Final = Definition(
    name=PREFIX + "queue_resources",
    kind=MetricKind.GAUGE,
    text=f"Amounts of a queue in base units (cores, bytes, counts); quantity is one of {', '.join(_AMOUNT_FIELDS)}; "
    "without a sample where a ceiling is not set. guarantee is what is reserved, guarantee_not_kept what the spec "
    "says beyond that: the cluster, or a ceiling, cannot hold it.",
    labels=("queue", "quantity", "resource"),
)
_INFO: Final = Definition(
    name=PREFIX + "queue_info",
    kind=MetricKind.GAUGE,
    text="1 for each queue, with its parent and its state.",
    labels=("queue", "parent", "state"),
)
_PENDING_GROUPS: Final = Definition(
    name=PREFIX + "pending_pod_groups",
    kind=MetricKind.GAUGE,
    text=f"PodGroups that do not run, by queue and by the one reason reported for each; queue is {MISSING_QUEUE!r} "
    "when the PodGroup names one that does not exist, or when pods name a PodGroup that does not.",
    labels=("queue", "reason"),
)
_PENDING_PODS: Final = Definition(
    name=PREFIX + "pending_pods",
    kind=MetricKind.GAUGE,
    text="Pods that wait in those PodGroups.",
    labels=("queue", "reason"),
)
_OLDEST: Final = Definition(
    name=PREFIX + "pending_oldest_timestamp_seconds",
    kind=MetricKind.GAUGE,
    text="When the oldest of them was created, in seconds since 1970; of pods whose PodGroup does not exist, "
    "the oldest pod.",
    labels=("queue", "reason"),
)
_UNSCHEDULABLE_JOBS: Final = Definition(
    name=PREFIX + "unschedule_job_count",
    kind=MetricKind.GAUGE,
    text="PodGroups that could not be scheduled in the last cycle.",
    is_volcano=True,
)
_UNSCHEDULABLE_JOBS_PLURAL: Final = Definition(
    name=PREFIX + "unschedule_job_counts",
    kind=MetricKind.GAUGE,
    text=f"The same as {PREFIX}unschedule_job_count, as Volcano's documents spell it.",
    is_volcano=True,
)
_UNSCHEDULABLE_TASKS: Final = Definition(
    name=PREFIX + "unschedule_task_count",
    kind=MetricKind.GAUGE,
    text="Pods of a PodGroup that could not be scheduled; job_id is namespace/name.",
    labels=("job_id",),
    is_volcano=True,
    is_per_job=True,
)
_SNAPSHOT_SIZE: Final = {
    "nodes": Definition(
        name=PREFIX + "snapshot_nodes", kind=MetricKind.GAUGE, text="Nodes in the last cycle's snapshot."
    ),
    "tasks": Definition(
        name=PREFIX + "snapshot_tasks", kind=MetricKind.GAUGE, text="Pods in the last cycle's snapshot."
    ),
    "jobs": Definition(
        name=PREFIX + "snapshot_jobs", kind=MetricKind.GAUGE, text="PodGroups in the last cycle's snapshot."
    ),
}

QUEUE_DEFINITIONS: Final = (
    *(definition for quantity in _QUANTITIES for definition in quantity.definitions),
    _SHARE,
    _WEIGHT,
    _OVERUSED,
    *_PHASES.values(),
    _RESOURCES,
    _INFO,
)
PENDING_DEFINITIONS: Final = (
    _PENDING_GROUPS,
    _PENDING_PODS,
    _OLDEST,
    _UNSCHEDULABLE_JOBS,
    _UNSCHEDULABLE_JOBS_PLURAL,
    _UNSCHEDULABLE_TASKS,
    *_SNAPSHOT_SIZE.values(),
)


class LastReport:
    """A Prometheus collector over the last report. Publishing is one assignment; the work is done by the scrape."""

    def __init__(self, *, per_job: bool) -> None:
        self._per_job = per_job
        self._report: CycleReport | None = None

    def publish(self, report: CycleReport | None) -> None:
        """`None` takes everything away, as when another replica leads."""
        self._report = report

    def describe(self) -> Iterable[Metric]:
        return self._families().values()

    def collect(self) -> Iterable[Metric]:
        report = self._report  # one read: a cycle may end while we render
        families = self._families()
        if report is not None:
            _add_queues(families, report)
            self._add_pending(families, report)
            for field, definition in _SNAPSHOT_SIZE.items():
                families[definition.name].add(getattr(report, field))
        return families.values()

    def _families(self) -> dict[str, Family]:
        return {
            definition.name: definition.family()
            for definition in (*QUEUE_DEFINITIONS, *PENDING_DEFINITIONS)
            if self._per_job or not definition.is_per_job
        }

    def _add_pending(self, families: dict[str, Family], report: CycleReport) -> None:
        groups: Counter[tuple[str, str]] = Counter()
        pods: Counter[tuple[str, str]] = Counter()
        oldest: dict[tuple[str, str], float] = {}
        for job in report.pending:
            labels = (job.queue if job.queue in report.queues else MISSING_QUEUE, job.reason.value)
            groups[labels] += 1
            pods[labels] += job.pending
            oldest[labels] = min(job.created, oldest.get(labels, job.created))
            if self._per_job:
                families[_UNSCHEDULABLE_TASKS.name].add(job.pending, job.name)
        for values, definition in ((groups, _PENDING_GROUPS), (pods, _PENDING_PODS), (oldest, _OLDEST)):
            for labels, number in sorted(values.items()):
                families[definition.name].add(number, *labels)
        for definition in (_UNSCHEDULABLE_JOBS, _UNSCHEDULABLE_JOBS_PLURAL):
            families[definition.name].add(len(report.pending))


def _add_queues(families: dict[str, Family], report: CycleReport) -> None:
    resources = _reported_resources(report)
    for name, queue in sorted(report.queues.items()):
        for quantity in _QUANTITIES:
            _add_quantity(families, quantity, name, {**quantity.amounts(queue)}, resources)
        for field in _AMOUNT_FIELDS:
            for resource, value in getattr(queue, field).items():
                if resource in resources:
                    base = value / _MILLI if resource == "cpu" else value
                    families[_RESOURCES.name].add(base, name, field, resource)
        families[_INFO.name].add(1, name, queue.parent, queue.state)
        families[_SHARE.name].add(queue.share, name)
        families[_WEIGHT.name].add(queue.weight, name)
        families[_OVERUSED.name].add(queue.overused, name)
        for phase, definition in _PHASES.items():
            families[definition.name].add(queue.pod_groups.get(phase, 0), name)


def _add_quantity(
    families: dict[str, Family], quantity: _Quantity, queue: str, amounts: dict[str, int], resources: frozenset[str]
) -> None:
    """Volcano's names and units."""
    cpu, memory = amounts.pop("cpu", None), amounts.pop("memory", None)
    if cpu is not None:
        families[quantity.cpu.name].add(cpu, queue)
        if quantity.misspelt_cpu:
            families[quantity.misspelt_cpu.name].add(cpu, queue)
    if memory is not None:
        families[quantity.memory.name].add(memory, queue)
    for resource, value in amounts.items():
        if resource in resources:
            families[quantity.scalars.name].add(value if resource == "pods" else value * _MILLI, queue, resource)


def _reported_resources(report: CycleReport) -> frozenset[str]:
    """Resources that administrators or nodes brought up, and the first few that only requests mention."""
    known: set[str] = {"cpu", "memory", "pods"}
    mentioned: set[str] = set()
    for queue in report.queues.values():
        for amounts in (queue.allocated, queue.deserved, queue.capability, queue.real_capability, queue.guarantee):
            known.update(amounts)
        known.update(queue.guarantee_not_kept)
        mentioned.update(queue.request, queue.inqueue)
    return frozenset(known).union(sorted(mentioned - known)[:_MOST_INVENTED])
