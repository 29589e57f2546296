"""The HyperNode controller: statuses, and HyperNodes that are discovered from labels of nodes."""
