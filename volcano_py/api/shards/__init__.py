"""Shards: parts of the nodes of a cluster, each used by one scheduler."""
