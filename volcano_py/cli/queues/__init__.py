"""`volcano-py queue`: how queues stand to each other, from manifests or a live cluster."""
