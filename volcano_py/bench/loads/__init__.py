"""The loads: what a scheduler is given."""
