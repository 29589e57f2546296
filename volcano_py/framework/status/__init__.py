"""Status: what a cycle reports of queues, jobs and pods, and what it remembers for the next one."""
