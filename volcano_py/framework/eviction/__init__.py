"""Eviction: which pods go so that a starving job has room."""
