"""The parts of an eviction plan: what is tried, compared and given back."""
