"""Claims to devices in a cycle: who uses them, what they count for in queues, and which lose their devices."""
