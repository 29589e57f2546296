"""Eviction: who goes so that a starving job has room."""
