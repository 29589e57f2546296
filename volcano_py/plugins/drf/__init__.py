"""drf: dominant resource fairness between jobs, between the namespaces of a queue, and between queues in a tree."""

from volcano_py.plugins.drf.plugin import Drf

__all__ = ["Drf"]
