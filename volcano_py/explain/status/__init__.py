"""How a workload stands: as the scheduler decides now, or as it has written."""
