"""Child processes, their ports and their logs."""
