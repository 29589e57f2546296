"""The verbs that read a record of a daemon: `replay` and `history`."""
