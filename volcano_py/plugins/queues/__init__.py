"""Shared code of the plugins that divide the cluster among queues."""
