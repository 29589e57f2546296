"""Jobs that rest between cycles, and what wakes them."""
