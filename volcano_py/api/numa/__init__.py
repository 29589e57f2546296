"""CPUs of nodes by NUMA node: the kind Numatopology, and the lists in which it names CPUs."""
