"""Why one workload waits, and what would help: the scheduler itself, run over a copy of the cluster. No I/O."""
