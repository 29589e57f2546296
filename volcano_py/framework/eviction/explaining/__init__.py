"""Why preempt or reclaim evict nothing for a job, and why one job keeps what another one lacks."""
