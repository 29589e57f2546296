"""Which plugins and actions there are: ours, and those that other packages install.

A package adds its own through the entry point groups `volcano_py.plugins` and `volcano_py.actions`; the entry's name is
the name in the configuration, its value the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final

import structlog

from volcano_py.config.catalogue import Catalogue
from volcano_py.framework.action import Action
from volcano_py.framework.plugin import Plugin, points_of

PLUGIN_GROUP: Final = "volcano_py.plugins"
ACTION_GROUP: Final = "volcano_py.actions"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Registry:
    """Plugin and action classes by the name that configurations use."""

    plugins: Mapping[str, type[Plugin]]
    actions: Mapping[str, type[Action]]
    points: Mapping[str, frozenset[str]]
    """Plugin name → the extension points its class fills."""

    @classmethod
    def of(cls, plugins: Iterable[type[Plugin]], actions: Iterable[type[Action]]) -> Registry:
        by_name = {plugin.name: plugin for plugin in plugins}
        points = {name: points_of(plugin) for name, plugin in by_name.items()}
        return cls(by_name, {action.name: action for action in actions}, points)

    def with_installed(self) -> Registry:
        """These and everything installed through entry points; ours cannot be replaced, broken ones are logged."""
        plugins, actions = list(self.plugins.values()), list(self.actions.values())
        for entry in entry_points(group=PLUGIN_GROUP):
            loaded = _load(entry, Plugin, taken=entry.name in self.plugins)
            if loaded is not None and issubclass(loaded, Plugin):
                plugins.append(loaded)
        for entry in entry_points(group=ACTION_GROUP):
            loaded = _load(entry, Action, taken=entry.name in self.actions)
            if loaded is not None and issubclass(loaded, Action):
                actions.append(loaded)
        return Registry.of(plugins, actions)

    def catalogue(self) -> Catalogue:
        """What the configuration reader needs to know of them."""
        return Catalogue(
            plugins={name: plugin.arguments_type for name, plugin in self.plugins.items()},
            actions={name: action.arguments_type for name, action in self.actions.items()},
            provides=self.points,
            unsupported_flags={name: plugin.unsupported_flags for name, plugin in self.plugins.items()},
        )


def _load(entry: EntryPoint, base: type, *, taken: bool) -> type | None:
    where = f"entry point {entry.group}:{entry.name} = {entry.value}"
    if taken:
        log.error("entry point ignored: the name is taken by a built-in", entry_point=where)
        return None
    try:
        loaded = entry.load()
    except Exception:
        log.exception("entry point ignored: it cannot be imported", entry_point=where)
        return None
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        log.error("entry point ignored: not a subclass of the base class", base=base.__name__, entry_point=where)
        return None
    if getattr(loaded, "name", None) != entry.name:
        log.error("entry point ignored: the class has another `name` than its entry", entry_point=where)
        return None
    return loaded
