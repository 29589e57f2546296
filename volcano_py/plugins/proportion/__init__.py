"""proportion: the cluster is divided among its busy queues by weight."""

from volcano_py.plugins.proportion.plugin import Proportion

__all__ = ["Proportion"]
