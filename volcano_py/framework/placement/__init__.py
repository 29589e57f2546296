"""Placement: which nodes the pods of a job go to."""
