"""The controllers, put together."""
