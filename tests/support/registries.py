"""The registry of the built-in plugins, as tests use it: what plugins answer is checked."""

from __future__ import annotations

from volcano_py.actions import BUILTIN_ACTIONS
from volcano_py.framework.registry import Registry
from volcano_py.plugins import BUILTIN_PLUGINS


def checked_registry() -> Registry:
    """The same plugins and actions as `builtin_registry`; an answer that makes no sense counts as a failure."""
    return Registry.of(BUILTIN_PLUGINS, BUILTIN_ACTIONS)
