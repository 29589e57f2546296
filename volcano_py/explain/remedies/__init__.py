"""What would help a workload: candidates of each sort, each tried on the copy, and kept only if the workload starts."""
