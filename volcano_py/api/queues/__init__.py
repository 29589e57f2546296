"""Queues as PodGroups and configurations name them."""
