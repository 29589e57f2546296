"""What plugins that share out the cluster between queues have in common."""
