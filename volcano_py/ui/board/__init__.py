"""What the page shows of one moment, as tables of frozen rows. Pure functions over the scheduler's own snapshot."""
