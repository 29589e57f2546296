"""The process itself: cycles, configuration, leadership, self-audit, build."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from prometheus_client import CollectorRegistry

from volcano_py.observe.metrics.definition import PREFIX, Definition, MetricKind


class Reload(StrEnum):
    """What became of a configuration that was read."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    INVALID = "invalid"
    """It has errors, or could not be read: the last good one stays in force."""


_CYCLES: Final = Definition(
    name=PREFIX + "cycles_total",
    kind=MetricKind.COUNTER,
    text="Scheduling cycles by outcome: completed, failed (an error ended it; the next one starts from scratch).",
    labels=("outcome",),
)
_LAST_CYCLE: Final = Definition(
    name=PREFIX + "last_cycle_timestamp_seconds",
    kind=MetricKind.GAUGE,
    text="When the last cycle was completed, in seconds since 1970. An idle cluster runs none.",
)
_RUNNING: Final = Definition(
    name=PREFIX + "cycle_running_seconds",
    kind=MetricKind.GAUGE,
    text="How long the current cycle has been running, in seconds; 0 between cycles. At 300 the process stops "
    "leading and is restarted.",
)
_PLUGIN_ERRORS: Final = Definition(
    name=PREFIX + "plugin_errors_total",
    kind=MetricKind.COUNTER,
    text="Calls of a plugin that raised or returned an invalid answer; each counts as a refusal.",
    labels=("plugin",),
)
_ACTION_ERRORS: Final = Definition(
    name=PREFIX + "action_errors_total",
    kind=MetricKind.COUNTER,
    text="Runs of an action that raised; what it had not committed was undone, and the next action went on.",
    labels=("action",),
)
_CONFIG_VALID: Final = Definition(
    name=PREFIX + "config_valid",
    kind=MetricKind.GAUGE,
    text="1 when the configuration read last is in force, 0 when it has errors and an older one is.",
)
_RELOADS: Final = Definition(
    name=PREFIX + "config_reloads_total",
    kind=MetricKind.COUNTER,
    text="Times the configuration was read, by outcome: applied, unchanged, invalid (or unreadable).",
    labels=("outcome",),
)
_LAST_RELOAD: Final = Definition(
    name=PREFIX + "config_last_applied_timestamp_seconds",
    kind=MetricKind.GAUGE,
    text="When the configuration in force was applied, in seconds since 1970.",
)
_LEADER: Final = Definition(
    name=PREFIX + "leader", kind=MetricKind.GAUGE, text="1 when this replica holds the Lease and schedules, else 0."
)
_LEADER_CHANGES: Final = Definition(
    name=PREFIX + "leader_changes_total", kind=MetricKind.COUNTER, text="Times this replica won or lost the Lease."
)
_DRIFT: Final = Definition(
    name=PREFIX + "state_drift",
    kind=MetricKind.GAUGE,
    text="How far the running sums were from sums counted again from all pods at the last self-audit, which corrected "
    "them. Anything but 0 is a bug.",
)
_AUDITS: Final = Definition(
    name=PREFIX + "state_audits_total", kind=MetricKind.COUNTER, text="Self-audits of the running sums."
)
_RECORD_STOPPED: Final = Definition(
    name=PREFIX + "record_stopped",
    kind=MetricKind.GAUGE,
    text="1 when the record that --record asks for has ended because it could not be written (disk full or slow), "
    "else 0.",
)
_OTHER_SCHEDULER: Final = Definition(
    name=PREFIX + "other_scheduler",
    kind=MetricKind.GAUGE,
    text="1 while another scheduler binds pods of our scheduler name, and this one therefore decides nothing, else 0.",
)
_FOREIGN_BINDINGS: Final = Definition(
    name=PREFIX + "foreign_bindings_total",
    kind=MetricKind.COUNTER,
    text="Pods of our scheduler name that were bound by another process while this replica led.",
)
_BUILD: Final = Definition(
    name=PREFIX + "build_info",
    kind=MetricKind.GAUGE,
    text="1, with the versions of the program and of its libraries.",
    labels=("version", "python", "platform"),
)

DEFINITIONS: Final = (
    _CYCLES,
    _LAST_CYCLE,
    _RUNNING,
    _PLUGIN_ERRORS,
    _ACTION_ERRORS,
    _CONFIG_VALID,
    _RELOADS,
    _LAST_RELOAD,
    _LEADER,
    _LEADER_CHANGES,
    _DRIFT,
    _AUDITS,
    _RECORD_STOPPED,
    _OTHER_SCHEDULER,
    _FOREIGN_BINDINGS,
    _BUILD,
)


class DaemonMetrics:
    def __init__(
        self, registry: CollectorRegistry, build: Mapping[str, str], clock: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        cycles = _CYCLES.counter(registry)
        self._completed, self._failed = cycles.labels("completed"), cycles.labels("failed")
        self._last_cycle = _LAST_CYCLE.gauge(registry)
        self._running = _RUNNING.gauge(registry)
        self._plugin_errors = _PLUGIN_ERRORS.counter(registry)
        self._action_errors = _ACTION_ERRORS.counter(registry)
        self._config_valid = _CONFIG_VALID.gauge(registry)
        reloads = _RELOADS.counter(registry)
        self._reloads = {outcome: reloads.labels(outcome.value) for outcome in Reload}
        self._last_reload = _LAST_RELOAD.gauge(registry)
        self._leader = _LEADER.gauge(registry)
        self._leader_changes = _LEADER_CHANGES.counter(registry)
        self._is_leader = False
        self._drift = _DRIFT.gauge(registry)
        self._audits = _AUDITS.counter(registry)
        self._record_stopped = _RECORD_STOPPED.gauge(registry)
        self._other_scheduler = _OTHER_SCHEDULER.gauge(registry)
        self._foreign_bindings = _FOREIGN_BINDINGS.counter(registry)
        _BUILD.gauge(registry).labels(*(build[label] for label in _BUILD.labels)).set(1)

    def cycle_completed(self, plugin_errors: Mapping[str, int], action_errors: Mapping[str, int]) -> None:
        self._completed.inc()
        self._last_cycle.set(self._clock())
        for plugin, count in plugin_errors.items():
            self._plugin_errors.labels(plugin).inc(count)
        for action, count in action_errors.items():
            self._action_errors.labels(action).inc(count)

    def cycle_running(self, seconds: float) -> None:
        """0 between cycles."""
        self._running.set(seconds)

    def cycle_failed(self) -> None:
        self._failed.inc()

    def config_read(self, outcome: Reload, *, valid: bool) -> None:
        """`valid`: whether the newest text is. Reading the same text again does not change that."""
        self._reloads[outcome].inc()
        self._config_valid.set(valid)
        if outcome is Reload.APPLIED:
            self._last_reload.set(self._clock())

    def leading(self, is_leader: bool) -> None:
        if is_leader != self._is_leader:
            self._leader_changes.inc()
        self._is_leader = is_leader
        self._leader.set(is_leader)

    def recording_stopped(self, _why: str) -> None:
        """May be called from any thread."""
        self._record_stopped.set(1)

    def other_scheduler(self, is_present: bool) -> None:
        self._other_scheduler.set(is_present)

    def foreign_bindings(self, count: int) -> None:
        self._foreign_bindings.inc(count)

    def audited(self, drift: int) -> None:
        self._audits.inc()
        self._drift.set(drift)
