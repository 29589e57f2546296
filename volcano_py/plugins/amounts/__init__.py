"""Amounts of resources as plugins calculate with them."""
