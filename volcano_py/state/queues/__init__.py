"""Queues, their tree, and the quotas and weights of namespaces."""
