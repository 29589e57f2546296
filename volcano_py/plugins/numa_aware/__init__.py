"""numa-aware: pods that get CPUs of their own go to nodes where these lie on as few NUMA nodes as they ask for."""

from volcano_py.plugins.numa_aware.plugin import NumaAware

__all__ = ["NumaAware"]
