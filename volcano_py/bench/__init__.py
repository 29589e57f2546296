"""Benchmarks: the same load for every scheduler, measured the same way."""
