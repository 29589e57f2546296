"""The built-in plugins and actions, as tests use them: what plugins answer is checked."""

from __future__ import annotations

from typing import Final

from volcano_py.actions import BUILTIN_ACTIONS
from volcano_py.framework.action import Action
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.registry import Registry
from volcano_py.plugins import BUILTIN_PLUGINS


def checked_registry() -> Registry:
    """The same plugins and actions as `builtin_registry`; an answer that makes no sense counts as a failure."""
    return Registry.at(BUILTIN_PLUGINS, BUILTIN_ACTIONS)


PLUGINS: Final[tuple[type[Plugin], ...]] = tuple(checked_registry().plugins.values())
ACTIONS: Final[tuple[type[Action], ...]] = tuple(checked_registry().actions.values())
