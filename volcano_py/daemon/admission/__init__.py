"""Admission in a separate process."""
