"""Admission webhooks under test: how they are reached, and how the API server proves who it is."""
