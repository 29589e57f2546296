"""The live daemon: the scheduler's cycles on one event loop with informers, writers and controllers."""
