"""Classes of pods that are identical to the scheduler."""
