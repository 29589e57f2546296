"""The plugins and actions that exist: ours, and those that other packages install.

A package adds its own through the entry point groups `volcano_py.plugins` and `volcano_py.actions`; the entry's name is
the name in the configuration, its value the class.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeVar

import msgspec
import structlog

from volcano_py.config.catalogue import Catalogue
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.framework.action import Action
from volcano_py.framework.calls.answer_checks import is_interrupt
from volcano_py.framework.plugin import Plugin, points_of

PLUGIN_GROUP: Final = "volcano_py.plugins"
ACTION_GROUP: Final = "volcano_py.actions"

log = structlog.get_logger(__name__)

T = TypeVar("T")


class Registry(msgspec.Struct, frozen=True):
    """Plugin and action classes by the name that configurations use."""

    plugins: Mapping[str, type[Plugin]]
    actions: Mapping[str, type[Action]]
    points: Mapping[str, frozenset[str]]
    """Plugin name → the extension points its class fills."""
    unchecked: frozenset[str] = frozenset()
    """Plugins whose answers are used without a check: ours, whose answers are checked in tests."""

    @classmethod
    def of(cls, plugins: Iterable[type[Plugin]], actions: Iterable[type[Action]]) -> Registry:
        """All answers of these plugins are checked."""
        by_name = {plugin.name: plugin for plugin in plugins}
        points = {name: points_of(plugin) for name, plugin in by_name.items()}
        return cls(by_name, {action.name: action for action in actions}, points)

    def without_checks(self) -> Registry:
        """The same, with the answers of these plugins unchecked."""
        return msgspec.structs.replace(self, unchecked=frozenset(self.plugins))

    def with_installed(self) -> Registry:
        """These and everything installed through entry points. Ours cannot be replaced; broken ones are logged."""
        entries = entry_points()  # once for both: it reads a file of every package there is
        plugins = _usable(entries.select(group=PLUGIN_GROUP), Plugin, self.plugins)
        actions = _usable(entries.select(group=ACTION_GROUP), Action, self.actions)
        found = Registry.of((*self.plugins.values(), *plugins), (*self.actions.values(), *actions))
        return msgspec.structs.replace(found, unchecked=self.unchecked)

    def refuses_incomplete(self, configuration: SchedulerConfiguration) -> bool:
        """Whether one of the configured plugins refuses every job with fewer pods than its minMember."""
        return any(self.plugins[entry.name].refuses_incomplete for entry in configuration.plugins())

    def catalogue(self) -> Catalogue:
        """What the configuration reader needs to know of them."""
        return Catalogue(
            plugins={name: plugin.arguments_type for name, plugin in self.plugins.items()},
            actions={name: action.arguments_type for name, action in self.actions.items()},
            provides=self.points,
            unsupported_flags={name: plugin.unsupported_flags for name, plugin in self.plugins.items()},
        )


class _UnusableError(Exception):
    """Why an entry point is left out."""


def _usable(entries: Iterable[EntryPoint], base: type[T], builtin: Collection[str]) -> list[type[T]]:
    """What the entry points name; the first of those that claim one name."""
    found: dict[str, type[T]] = {}
    for entry in entries:
        try:
            if entry.name in builtin:
                raise _UnusableError("the name is taken by a built-in")
            if entry.name in found:
                raise _UnusableError("another package has installed this name")
            found[entry.name] = _load(entry, base)
        except _UnusableError as error:
            where = f"{entry.group}:{entry.name} = {entry.value}"
            log.error("entry point ignored", why=str(error), entry_point=where, exc_info=error.__cause__)
    return list(found.values())


def _load(entry: EntryPoint, base: type[T]) -> type[T]:
    """The class of an entry. Importing it runs the other package's code, which may raise anything."""
    try:
        loaded = entry.load()
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise _UnusableError("it cannot be imported") from error
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        raise _UnusableError(f"it is not a subclass of {base.__module__}.{base.__name__}")
    if getattr(loaded, "name", None) != entry.name:
        raise _UnusableError("the `name` of the class differs from that of its entry")
    return loaded
