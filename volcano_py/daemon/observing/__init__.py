"""What the daemon shows about itself: gauges, status, dump."""
