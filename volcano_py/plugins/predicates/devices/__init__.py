"""Which devices the claims of a pod can get, and so which nodes can take it."""
