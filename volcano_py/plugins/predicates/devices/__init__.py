"""Devices of dynamic resource allocation: which nodes have those that a pod's claims ask for, and which it gets."""
