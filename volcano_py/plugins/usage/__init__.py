"""usage: nodes that are really busy take no more pods, or fewer."""

from volcano_py.plugins.usage.plugin import Usage

__all__ = ["Usage"]
