"""usage: nodes with a high measured load take no more pods, or score lower."""

from volcano_py.plugins.usage.plugin import Usage

__all__ = ["Usage"]
