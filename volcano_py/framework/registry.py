"""The plugins and actions that exist: ours, and those that other packages install.

Ours are named by the places of their classes, and a module is loaded when its class is first asked for: of all plugins,
a configuration needs a third. A package adds its own through the entry point groups `volcano_py.plugins` and
`volcano_py.actions`; the entry's name is the name in the configuration, its value the class.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import Any, Final, TypeVar

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


class OnDemand(Mapping[str, T]):
    """Each of the names → what `find` gives for it, which is asked once."""

    def __init__(self, names: Iterable[str], find: Callable[[str], T]) -> None:
        self._names = dict.fromkeys(names)
        self._find = find
        self._found: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._found:
            self._found[name] = self._find(name)
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


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
        return cls._with({plugin.name: plugin for plugin in plugins}, {action.name: action for action in actions})

    @classmethod
    def at(cls, plugins: Mapping[str, str], actions: Mapping[str, str]) -> Registry:
        """The classes at these places ("package.module:Class"), by name. All answers of these plugins are checked."""
        return cls._with(_at(plugins), _at(actions))

    @classmethod
    def _with(cls, plugins: Mapping[str, type[Plugin]], actions: Mapping[str, type[Action]]) -> Registry:
        return cls(plugins, actions, OnDemand(plugins, lambda name: points_of(plugins[name])))

    def without_checks(self) -> Registry:
        """The same, with the answers of these plugins unchecked."""
        return msgspec.structs.replace(self, unchecked=frozenset(self.plugins))

    def with_installed(self) -> Registry:
        """These and everything installed through entry points. Ours cannot be replaced; broken ones are logged."""
        entries = entry_points()  # once for both: it reads a file of every package there is
        plugins = _usable(entries.select(group=PLUGIN_GROUP), Plugin, self.plugins)
        actions = _usable(entries.select(group=ACTION_GROUP), Action, self.actions)
        found = Registry._with(_both(self.plugins, plugins), _both(self.actions, actions))
        return msgspec.structs.replace(found, unchecked=self.unchecked)

    def refuses_incomplete(self, configuration: SchedulerConfiguration) -> bool:
        """Whether one of the configured plugins refuses every job with fewer pods than its minMember."""
        return any(self.plugins[entry.name].refuses_incomplete for entry in configuration.plugins())

    def catalogue(self) -> Catalogue:
        """What the configuration reader needs to know of them."""
        plugins, actions = self.plugins, self.actions
        return Catalogue(
            plugins=OnDemand(plugins, lambda name: plugins[name].arguments_type),
            actions=OnDemand(actions, lambda name: actions[name].arguments_type),
            provides=self.points,
            unsupported_flags=OnDemand(plugins, lambda name: plugins[name].unsupported_flags),
        )


def _at(places: Mapping[str, str]) -> OnDemand[Any]:
    """Name → the class at its place."""
    return OnDemand(places, lambda name: resolve_name(places[name]))


def _both(ours: Mapping[str, T], more: Mapping[str, T]) -> OnDemand[T]:
    """Those of two mappings that share no name."""
    return OnDemand((*ours, *more), lambda name: ours[name] if name in ours else more[name])


class _UnusableError(Exception):
    """Why an entry point is left out."""


def _usable(entries: Iterable[EntryPoint], base: type[T], builtin: Collection[str]) -> dict[str, type[T]]:
    """What the entry points name, by that name; the first of those that claim one."""
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
    return found


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
