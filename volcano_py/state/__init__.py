"""The cluster as columns: nodes, tasks, jobs and queues in numpy tables, kept by events and copied for a cycle."""
