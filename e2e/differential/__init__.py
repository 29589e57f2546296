"""The same clusters for this scheduler and for kube-scheduler: both must find that a pod fits the same nodes."""
