"""The controller that gives pods without a PodGroup one."""
