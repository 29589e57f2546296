"""Devices of ResourceClaims as amounts in the sums of queues."""
