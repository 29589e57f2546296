"""Dashboards and alerts, by a real Prometheus that scrapes running daemons."""
