"""CronJobs, the pure part."""
