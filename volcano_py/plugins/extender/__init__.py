"""The plugin extender."""

from volcano_py.plugins.extender.plugin import Extender

__all__ = ["Extender"]
