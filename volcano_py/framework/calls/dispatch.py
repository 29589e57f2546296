"""Calling plugins: which of them fill a point, in which order, and the answer when a call fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import msgspec
import structlog

from volcano_py.config.arguments import Arguments
from volcano_py.config.model import PluginEntry, SchedulerConfiguration
from volcano_py.framework.calls.answer_checks import check_of, is_interrupt
from volcano_py.framework.calls.answers import CLOSED
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.registry import Registry

log = structlog.get_logger(__name__)

T = TypeVar("T")

# Points that the switch of another point turns off.
_FLAG_LIKE: Final = {
    "queue_paths": "queue_order",
    "branch_order": "queue_order",
    "predicate_room": "predicate",
    "late_predicate": "predicate",
    "domain_filter": "predicate",
    "predicate_advice": "predicate",
    "node_orders": "node_order",
    "domain_order": "batch_node_order",
    "gathering_order": "node_order",
}
# Points at which a plugin updates its own numbers: after a failure there, none of its answers can be trusted.
# (task_variants: without them it would treat pods of one queue as those of another.)
_KEEPS_BOOKS: Final = frozenset({"task_variants", "on_allocate", "on_deallocate", "job_enqueued"})


class PluginFailures(msgspec.Struct):
    """Plugins that failed in this cycle; those in `closed` are not asked again before the next."""

    counts: dict[str, int] = msgspec.field(default_factory=dict)
    closed: set[str] = msgspec.field(default_factory=set)

    def note(self, plugin: str, point: str, error: BaseException) -> None:
        """Raises the error again if it is an interrupt and not the plugin's."""
        if is_interrupt(error):
            raise error
        if plugin not in self.counts:
            log.error("plugin failed; the call counts as a refusal", plugin=plugin, point=point, exc_info=error)
        self.counts[plugin] = self.counts.get(plugin, 0) + 1


class Call:
    """One plugin's method for one point, guarded."""

    __slots__ = ("_check", "_closed", "_failures", "_is_checked", "_method", "_name", "plugin", "point", "tier")

    def __init__(
        self, plugin: Plugin, point: str, tier: int, failures: PluginFailures, *, is_checked: bool = True
    ) -> None:
        """With `is_checked`, an answer that makes no sense counts as a failure (see answer_checks)."""
        self.plugin = plugin
        self.point = point
        self.tier = tier
        self._method = getattr(plugin, point)
        self._is_checked = is_checked
        self._check = check_of(point) if is_checked else None
        self._failures = failures
        # Looked up once: `__call__` runs some twenty times for every task that is placed.
        self._name, self._closed = plugin.name, failures.closed

    def __call__(self, *args: Any) -> Any:
        if self._name in self._closed:
            return CLOSED[self.point](self._name, *args)
        try:
            answer = self._method(*args)
            if self._check is not None:
                self._check(answer, args[-1] if args else None)
            return answer
        except BaseException as error:
            self.failed(error)
            return CLOSED[self.point](self._name, *args)

    def failed(self, error: BaseException) -> None:
        """Note that the plugin's answer, or its use, failed."""
        self._failures.note(self._name, self.point, error)
        if self.point in _KEEPS_BOOKS:
            self._closed.add(self._name)

    def guard(self, work: Callable[[], T], otherwise: T) -> T:
        """What `work` returns, which runs more code of the plugin for this answer; `otherwise` when that fails."""
        if self._name in self._closed:
            return otherwise
        try:
            return work()
        except BaseException as error:
            self._failures.note(self._name, self.point, error)
            return otherwise

    def ask(self, question: str, *args: Any, otherwise: T) -> T:
        """Another question to the plugin, about its answers at this point; `otherwise` when it fails."""
        if self.plugin.name in self._failures.closed:
            return otherwise
        try:
            answer: T = getattr(self.plugin, question)(*args)
            if self._is_checked and (check := check_of(question)) is not None:
                check(answer, args[-1] if args else None)
            return answer
        except BaseException as error:
            self._failures.note(self.plugin.name, question, error)
            return otherwise


class Dispatch:
    """The plugins of one cycle, made from their arguments, and their calls by extension point."""

    def __init__(self, configuration: SchedulerConfiguration, registry: Registry) -> None:
        self.failures = PluginFailures()
        self.plugins: list[Plugin] = []
        self._calls: dict[str, list[Call]] = {}
        made: dict[str, Plugin] = {}
        unused: dict[str, frozenset[str]] = {}
        hierarchical: set[str] = set()
        for entry in configuration.plugins():
            plugin = made.get(entry.name)
            if plugin is None:
                # A plugin that is named again in a later tier is asked there again, but is one instance.
                plugin = made[entry.name] = self._make(registry.plugins[entry.name], entry)
                self.plugins.append(plugin)
                unused[entry.name] = self._unused_points(plugin, entry)
                if entry.flags.hierarchy:
                    hierarchical.add(entry.name)
            for point in registry.points[entry.name]:
                if point in _KEEPS_BOOKS and any(call.plugin is plugin for call in self.calls(point)):
                    continue
                if point in plugin.hierarchy_points and entry.name not in hierarchical:
                    continue
                if point in unused[entry.name]:
                    continue
                if entry.flags.allow(_FLAG_LIKE.get(point, point)):
                    is_checked = entry.name not in registry.unchecked
                    call = Call(plugin, point, entry.tier, self.failures, is_checked=is_checked)
                    self._calls.setdefault(point, []).append(call)
        self.gathers = any("hyper_node_gradient" in registry.points[plugin.name] for plugin in self.plugins)
        """Whether a plugin keeps jobs together in the network, whatever its switches are."""
        self._tiers = {point: _by_tier(calls) for point, calls in self._calls.items()}

    def calls(self, point: str) -> list[Call]:
        """The calls of all plugins that fill the point, in tier and file order."""
        return self._calls.get(point, [])

    def by_tier(self, point: str) -> list[list[Call]]:
        """The same, one list per tier that has any."""
        return self._tiers.get(point, [])

    def guard(self, plugin: Plugin, point: str, work: Callable[[], T], otherwise: T) -> T:
        """What `work` returns, which runs code of the plugin; `otherwise` when it fails or the plugin is closed."""
        if plugin.name in self.failures.closed:
            return otherwise
        try:
            return work()
        except BaseException as error:
            self.failures.note(plugin.name, point, error)
            return otherwise

    def life(self, hook: str, ssn: Any) -> dict[str, float]:
        """Call `on_session_open` or `on_session_close` of all; returns the seconds each took."""
        seconds: dict[str, float] = {}
        for plugin in self.plugins:
            if plugin.name in self.failures.closed:
                continue
            started = time.perf_counter()
            try:
                getattr(plugin, hook)(ssn)
            except BaseException as error:
                self.failures.note(plugin.name, hook, error)
                self.failures.closed.add(plugin.name)
            seconds[plugin.name] = time.perf_counter() - started
        return seconds

    def _unused_points(self, plugin: Plugin, entry: PluginEntry) -> frozenset[str]:
        """Those at which the plugin need not be asked."""
        nothing: frozenset[str] = frozenset()
        if not isinstance(entry.arguments, Arguments):
            return nothing
        return self.guard(plugin, "unused_points", entry.arguments.unused_points, otherwise=nothing)

    def _make(self, plugin_type: type[Plugin], entry: PluginEntry) -> Plugin:
        """An instance; one that cannot be created is replaced by an empty one that is closed, so that its points
        refuse.
        """
        try:
            return plugin_type(entry.arguments, entry.flags)
        except BaseException as error:
            self.failures.note(entry.name, "__init__", error)
            self.failures.closed.add(entry.name)
            return object.__new__(plugin_type)


def _by_tier(calls: Iterable[Call]) -> list[list[Call]]:
    tiers: dict[int, list[Call]] = {}
    for call in calls:
        tiers.setdefault(call.tier, []).append(call)
    return [tiers[tier] for tier in sorted(tiers)]
