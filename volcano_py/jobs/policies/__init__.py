"""What has happened to a Job, and what its policies say is to be done."""
