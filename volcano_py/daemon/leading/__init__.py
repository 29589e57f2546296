"""Which replica leads, and whether it knows enough to decide."""
