"""Everything that decisions follow from, as one value: taken from a live cluster, or read from a file."""
