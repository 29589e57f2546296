"""capacity: what queues deserve, are guaranteed and may have at most, in a tree of queues or side by side."""

from volcano_py.plugins.capacity.plugin import Capacity

__all__ = ["Capacity"]
