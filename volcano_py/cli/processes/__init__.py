"""The verbs that run the scheduler, its admission, or a local cluster."""
