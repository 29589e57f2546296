"""The controllers of Jobs, CronJobs and JobFlows."""
