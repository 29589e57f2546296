"""Changes tried on a capture: the scheduler runs until nothing changes, without them and with them."""
