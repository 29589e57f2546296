"""The fields of one argument model: its keys, and how values are read into it."""
