"""Bindings, evictions, statuses and events: how decisions go out."""
