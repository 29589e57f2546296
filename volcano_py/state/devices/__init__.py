"""Devices, and what claims to them mean for pods."""
