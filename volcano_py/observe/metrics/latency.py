"""How long things take: Volcano's histograms in milliseconds, and each of them again in seconds, the base unit."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from prometheus_client import CollectorRegistry, Histogram

from volcano_py.api.report import CycleReport
from volcano_py.observe.metrics.definition import PREFIX, Definition, MetricKind, exponential

# Volcano's bounds are all among ours, so that queries over `le` keep their meaning. For work they are 5 ms to 82 s, and
# cycles here are often shorter; for waiting they end at 82 s (pods) and 16 s (jobs), and both wait for hours.
_WORK: Final = (1.0, 2.0, *exponential(5, 2, 15))
_POD_WAIT: Final = (*exponential(5, 2, 15), *exponential(81920 * 4, 4, 6))
_JOB_WAIT: Final = (*exponential(32, 2, 10), *exponential(16384 * 4, 4, 7))
_MILLI: Final = 1000.0


class TaskStage(StrEnum):
    """How far a pod has come, measured from its creation."""

    WATCHED = "Watched"
    ASSUMED = "Assumed"
    PRE_BOUND = "PreBound"
    BOUND = "Bound"


class SchedulingStage(StrEnum):
    """A part of the work on a pod or a class of pods."""

    PREDICATE = "Predicate"
    SCORING = "Scoring"
    PRE_BIND = "PreBind"
    BIND = "Bind"


def _pair(
    name: str,
    seconds: str,
    text: str,
    labels: tuple[str, ...] = (),
    bounds: tuple[float, ...] = _WORK,
) -> tuple[Definition, Definition]:
    """The histogram under Volcano's name and its sibling in the base unit."""
    milli = Definition(
        name=PREFIX + name,
        kind=MetricKind.HISTOGRAM,
        text=f"{text}, in milliseconds.",
        labels=labels,
        buckets=bounds,
        is_volcano=True,
    )
    base = Definition(
        name=PREFIX + seconds,
        kind=MetricKind.HISTOGRAM,
        text=f"{text}, in seconds.",
        labels=tuple("point" if label == "OnSession" else label for label in labels),
        buckets=tuple(bound / _MILLI for bound in bounds),
    )
    return milli, base


_CYCLE: Final = _pair(
    "e2e_scheduling_latency_milliseconds",
    "cycle_duration_seconds",
    "One scheduling cycle from its snapshot to its last decision",
)
_OPEN: Final = _pair(
    "open_session_duration_milliseconds",
    "open_session_duration_seconds",
    "Opening the session of a cycle, all plugins included",
)
_PLUGIN: Final = _pair(
    "plugin_scheduling_latency_milliseconds",
    "plugin_duration_seconds",
    "A plugin's work when a session opens (OnSessionOpen) or closes (OnSessionClose)",
    ("plugin", "OnSession"),
)
_ACTION: Final = _pair(
    "action_scheduling_latency_milliseconds", "action_duration_seconds", "One action in a cycle", ("action",)
)
_TASK: Final = _pair(
    "task_scheduling_latency_milliseconds",
    "task_scheduling_duration_seconds",
    "From a pod's creation until the scheduler has seen it (Watched), placed it (Assumed), prepared its volumes and "
    "the like (PreBound) or bound it (Bound)",
    ("stage",),
    _POD_WAIT,
)
_STAGE: Final = _pair(
    "scheduling_stage_duration_milliseconds",
    "scheduling_stage_duration_seconds",
    "One stage of the work: Predicate and Scoring for a class of pods, PreBind and Bind for a pod",
    ("stage",),
)
_JOB: Final = _pair(
    "e2e_job_scheduling_latency_milliseconds",
    "job_scheduling_duration_seconds",
    "From a PodGroup's creation until pods of it are placed, each time that some are",
    bounds=_JOB_WAIT,
)
_POD_CREATION: Final = _pair(
    "controller_job_to_pod_creation_latency_milliseconds",
    "controller_job_to_pod_creation_duration_seconds",
    "From a vcjob's creation until one of its pods is created",
)
_SNAPSHOT: Final = Definition(
    name=PREFIX + "snapshot_duration_seconds",
    kind=MetricKind.HISTOGRAM,
    text="Copying the cluster's state for a cycle, in seconds.",
    buckets=tuple(bound / _MILLI for bound in _WORK),
)

DEFINITIONS: Final = (*_CYCLE, _SNAPSHOT, *_OPEN, *_ACTION, *_PLUGIN, *_STAGE, *_TASK, *_JOB, *_POD_CREATION)


class Latencies:
    """All arguments are in seconds."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._cycle = _Latency(_CYCLE, registry)
        self._snapshot = _SNAPSHOT.histogram(registry)
        self._open = _Latency(_OPEN, registry)
        self._action = _Latency(_ACTION, registry)
        self._plugin = _Latency(_PLUGIN, registry)
        self._stage = _Latency(_STAGE, registry)
        self._task = _Latency(_TASK, registry)
        self._job = _Latency(_JOB, registry)
        self._pod_creation = _Latency(_POD_CREATION, registry)

    def observe_cycle(self, report: CycleReport) -> None:
        self._cycle.observe(report.duration)
        self._snapshot.observe(report.snapshot_duration)
        self._open.observe(report.open_duration)
        for action, seconds in report.actions.items():
            self._action.observe(seconds, action)
        for plugin, seconds in report.plugins_open.items():
            self._plugin.observe(seconds, plugin, "OnSessionOpen")
        for plugin, seconds in report.plugins_close.items():
            self._plugin.observe(seconds, plugin, "OnSessionClose")
        for seconds in report.predicate_seconds:
            self.stage_took(SchedulingStage.PREDICATE, seconds)
        for seconds in report.scoring_seconds:
            self.stage_took(SchedulingStage.SCORING, seconds)

    def task_reached(self, stage: TaskStage, seconds: float) -> None:
        """A pod has come to `stage`, `seconds` after its creation."""
        self._task.observe(seconds, stage.value)

    def stage_took(self, stage: SchedulingStage, seconds: float) -> None:
        self._stage.observe(seconds, stage.value)

    def job_scheduled(self, seconds: float) -> None:
        self._job.observe(seconds)

    def pod_created_for_job(self, seconds: float) -> None:
        self._pod_creation.observe(seconds)


class _Latency:
    """One duration in two histograms."""

    def __init__(self, pair: tuple[Definition, Definition], registry: CollectorRegistry) -> None:
        milli, base = pair
        self._milli = milli.histogram(registry)
        self._base = base.histogram(registry)
        # `labels()` takes a lock and builds texts each time; label values here are few (plugins, actions, stages).
        self._children: dict[tuple[str, ...], tuple[Histogram, Histogram]] = {}
        if not milli.labels:
            self._children[()] = (self._milli, self._base)

    def observe(self, seconds: float, *labels: str) -> None:
        children = self._children.get(labels)
        if children is None:
            children = self._children[labels] = (self._milli.labels(*labels), self._base.labels(*labels))
        # Clocks of different machines disagree: a creation time may be a little ahead of ours.
        seconds = max(seconds, 0.0)
        children[0].observe(seconds * _MILLI)
        children[1].observe(seconds)
