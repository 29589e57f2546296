"""CPUs by NUMA node: what pods ask for, what nodes have, and which CPUs pods that run hold."""
