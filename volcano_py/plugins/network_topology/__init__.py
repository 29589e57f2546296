"""network-topology-aware: jobs are kept together in the tree of HyperNodes."""

from volcano_py.plugins.network_topology.plugin import NetworkTopologyAware

__all__ = ["NetworkTopologyAware"]
