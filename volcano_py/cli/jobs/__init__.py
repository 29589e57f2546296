"""What `volcano-py job` makes, prints and asks for."""
