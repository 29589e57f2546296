"""Ordering: which queue, namespace, job and pod is next."""
