"""Job plugins: what they are (`plugin`), which there are (`registry`), and our own, a module each."""

from __future__ import annotations

from typing import Final

from volcano_py.jobs.plugins.plugin import JobPlugin, KeptObject, PluginArgumentError
from volcano_py.jobs.plugins.registry import JobPlugins

BUILTIN: Final[tuple[type[JobPlugin], ...]] = ()
"""Our own plugins."""

__all__ = ["BUILTIN", "JobPlugin", "JobPlugins", "KeptObject", "PluginArgumentError"]
