"""Requests to the API server, from checked paths to bounded answers."""
