"""Which nodes the volumes of a pod allow."""
