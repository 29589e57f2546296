"""Dashboards for Grafana and alerts for Prometheus, made from the definitions of the metrics.

`python -m volcano_py.observe.monitoring` writes them below manifests/monitoring. Functions that know the definitions
build the queries (`queries`). One that names an unknown metric or label, or takes the rate of a gauge, cannot be built:
no panel asks for what the daemon does not have.
"""
