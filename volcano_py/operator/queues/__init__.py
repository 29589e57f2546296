"""The controllers of Queues and Commands."""
