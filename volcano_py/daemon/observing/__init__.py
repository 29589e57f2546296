"""What the daemon shows of itself: gauges, status, dump."""
