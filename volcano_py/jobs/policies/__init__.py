"""What has happened to a Job, and what its policies do about it."""
