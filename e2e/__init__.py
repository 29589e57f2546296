"""End-to-end tests: the daemon as its own ServiceAccount, under the shipped RBAC, on a real API server."""
