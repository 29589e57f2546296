"""Claims to devices in a cycle: which tasks use them, and which lose their devices."""
