"""Claims that are created for devices."""
