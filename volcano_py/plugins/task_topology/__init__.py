"""task-topology: which roles of a job should share a node, and which should not."""

from volcano_py.plugins.task_topology.plugin import TaskTopology

__all__ = ["TaskTopology"]
