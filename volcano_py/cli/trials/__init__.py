"""Trials of changes: `what-if` and `config plan`."""
