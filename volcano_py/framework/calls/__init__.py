"""Calls to plugins: their order, their combined answer, and the answer when one fails."""
