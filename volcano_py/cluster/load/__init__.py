"""How much of nodes is in use, from metrics-server or Prometheus."""
