"""Volumes, claims and disks: what they mean for the pods that use them."""
