"""A record of everything that decisions followed from, written while the daemon runs, and decided again afterwards."""
