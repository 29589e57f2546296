"""The turns that allocate gives jobs."""
