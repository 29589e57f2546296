"""Runs of preempt and reclaim: what is done for each job that starves, and which need not be tried again."""
