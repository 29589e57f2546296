"""Asking plugins: who fills a point, in which order, and what holds when a call raises."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import structlog

from volcano_py.api.reasons import Reason
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.registry import Registry
from volcano_py.framework.votes import Room, reject
from volcano_py.state.task_class import Refusal

log = structlog.get_logger(__name__)

PLUGIN_ERROR_CODE: Final = 1
"""Id of the refusal «a plugin failed»; the session registers it first."""


@dataclass(slots=True)
class PluginFailures:
    """Plugins that raised in this cycle. A plugin whose own books may be wrong is closed as a whole."""

    counts: dict[str, int] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)

    def note(self, plugin: str, point: str, error: Exception) -> None:
        if plugin not in self.counts:
            log.error(
                "plugin failed; its answers are closed for this cycle", plugin=plugin, point=point, exc_info=error
            )
        self.counts[plugin] = self.counts.get(plugin, 0) + 1


def _refusal(plugin: str) -> Refusal:
    return Refusal(Reason.PLUGIN_ERROR, f"plugin {plugin} failed; see the scheduler's log")


# What is answered for a plugin that failed: nothing is let through on its account, and orders stay as they are.
_CLOSED: Final[dict[str, Callable[..., Any]]] = {
    "job_order": lambda _plugin, _job: 0,
    "queue_order": lambda _plugin, _queue: 0,
    "queue_paths": lambda _plugin: {},
    "branch_order": lambda _plugin, _path: 0,
    "task_order": lambda _plugin, rows: np.zeros(len(rows)),
    "job_valid": lambda plugin, _job: _refusal(plugin),
    "job_enqueueable": lambda plugin, _job: reject(Reason.PLUGIN_ERROR, _refusal(plugin).message),
    "job_enqueued": lambda _plugin, _job: None,
    "job_ready": lambda _plugin, _job: False,
    "tasks_to_ready": lambda _plugin, _job: 1,
    "job_pipelined": lambda plugin, _job: reject(Reason.PLUGIN_ERROR, _refusal(plugin).message),
    "job_starving": lambda _plugin, _job: False,
    "overused": lambda _plugin, _queue: True,
    "allocatable": lambda plugin, _queue, _task_class: Room(0, _refusal(plugin)),
    "preemptive": lambda _plugin, _queue, _tasks: False,
    "pre_predicate": lambda plugin, _task_class: _refusal(plugin),
    "predicate": lambda _plugin, _task_class, view: np.full(len(view), PLUGIN_ERROR_CODE, dtype=np.int32),
    "node_order": lambda _plugin, _task_class, view: np.zeros(len(view)),
    "batch_node_order": lambda _plugin, _task_class, _view: None,
    "best_node": lambda _plugin, _task_class, _view, _scores: None,
    "preemptable": lambda _plugin, _task, candidates: np.zeros(len(candidates), dtype=np.bool_),
    "reclaimable": lambda _plugin, _task, candidates: np.zeros(len(candidates), dtype=np.bool_),
    "on_allocate": lambda _plugin, _placement: None,
    "on_deallocate": lambda _plugin, _placement: None,
}
# Points that a switch gates under the name of another.
_FLAG_LIKE: Final = {"queue_paths": "queue_order", "branch_order": "queue_order"}
_KEEPS_BOOKS: Final = frozenset({"on_allocate", "on_deallocate", "job_enqueued"})


class Call:
    """One plugin's method for one point, guarded."""

    __slots__ = ("_failures", "_method", "plugin", "point", "tier")

    def __init__(self, plugin: Plugin, point: str, tier: int, failures: PluginFailures) -> None:
        self.plugin = plugin
        self.point = point
        self.tier = tier
        self._method = getattr(plugin, point)
        self._failures = failures

    def __call__(self, *args: Any) -> Any:
        name = self.plugin.name
        if name in self._failures.closed:
            return _CLOSED[self.point](name, *args)
        try:
            return self._method(*args)
        except Exception as error:
            self._failures.note(name, self.point, error)
            if self.point in _KEEPS_BOOKS:
                self._failures.closed.add(name)
            return _CLOSED[self.point](name, *args)


class Dispatch:
    """The plugins of one cycle, made from their arguments, and their calls by extension point."""

    def __init__(self, configuration: SchedulerConfiguration, registry: Registry) -> None:
        self.failures = PluginFailures()
        self.plugins: list[Plugin] = []
        self.tiers = len(configuration.tiers)
        self._calls: dict[str, list[Call]] = {}
        made: dict[str, Plugin] = {}
        for entry in configuration.plugins():
            plugin_type = registry.plugins[entry.name]
            plugin = made.get(entry.name)
            if plugin is None:
                # Named again in a later tier, a plugin is asked again there, but keeps one set of books.
                plugin = made[entry.name] = plugin_type(entry.arguments, entry.flags)
                self.plugins.append(plugin)
            for point in registry.points[entry.name]:
                if point in _KEEPS_BOOKS and any(call.plugin is plugin for call in self.calls(point)):
                    continue
                if entry.flags.allow(_FLAG_LIKE.get(point, point)):
                    self._calls.setdefault(point, []).append(Call(plugin, point, entry.tier, self.failures))

    def calls(self, point: str) -> list[Call]:
        """Who fills the point, in tier and file order."""
        return self._calls.get(point, [])

    def by_tier(self, point: str) -> Iterator[list[Call]]:
        """The same, one list per tier that has any."""
        calls = self.calls(point)
        for tier in range(self.tiers):
            of_tier = [call for call in calls if call.tier == tier]
            if of_tier:
                yield of_tier

    def describe_queues(self, plugin: Plugin) -> Mapping[str, Mapping[str, Any]]:
        """What the plugin tells of queues; nothing when it fails."""
        try:
            return plugin.describe_queues()
        except Exception as error:
            self.failures.note(plugin.name, "describe_queues", error)
            return {}

    def life(self, hook: str, ssn: Any) -> dict[str, float]:
        """Call `on_session_open` or `on_session_close` of all; returns the seconds each took."""
        seconds: dict[str, float] = {}
        for plugin in self.plugins:
            started = time.perf_counter()
            try:
                getattr(plugin, hook)(ssn)
            except Exception as error:
                self.failures.note(plugin.name, hook, error)
                self.failures.closed.add(plugin.name)
            seconds[plugin.name] = time.perf_counter() - started
        return seconds
