"""nodegroup: which groups of nodes a queue uses, and which it keeps away from."""

from volcano_py.plugins.nodegroup.plugin import NodeGroup

__all__ = ["NodeGroup"]
