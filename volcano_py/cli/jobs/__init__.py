"""What `volcano-py job` creates, prints and requests."""
