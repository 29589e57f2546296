"""Claims to devices in a cycle: which tasks use them, which lose their devices, and how they count in queues."""
