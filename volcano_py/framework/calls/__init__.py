"""Calls to plugins: in which order they are asked, what they answer together, and what holds when one fails."""
