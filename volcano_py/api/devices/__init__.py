"""Devices of dynamic resource allocation, and claims to them."""
