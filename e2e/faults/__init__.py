"""What the daemon does when everything around it fails: a proxy that injects faults, churn, and invariants."""
