"""Admission in a process of its own."""
