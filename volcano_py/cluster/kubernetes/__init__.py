"""The adapter to a real API server: everything runs on one asyncio loop and is written to cost it little."""
