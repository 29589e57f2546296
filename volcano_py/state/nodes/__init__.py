"""Nodes: their rows, their labels and taints as columns, and their measured load."""
