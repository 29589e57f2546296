"""kopf in our process."""
