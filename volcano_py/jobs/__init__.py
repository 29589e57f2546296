"""Volcano Jobs, the pure part: given the world as seen, what to create, change or delete.

It does no I/O and reads no clock, so the daemon, `simulate` and tests decide by the same functions.
"""
