"""The page in a real browser, over a real API server."""
