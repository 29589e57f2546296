"""`volcano-py queue`: queues and their shares, from manifests or a live cluster."""
