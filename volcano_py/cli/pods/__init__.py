"""Verbs about pods: which wait and why, and which were evicted."""
