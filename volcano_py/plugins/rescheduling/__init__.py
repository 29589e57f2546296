"""rescheduling: move pods from nodes with a high measured load to nodes with a low one."""

from volcano_py.plugins.rescheduling.plugin import Rescheduling

__all__ = ["Rescheduling"]
