"""Volcano Jobs, the pure part: given the world as seen, what is to be created, changed or deleted.

It does no I/O and reads no clock, so the daemon, `simulate` and tests decide by the same functions.
"""
