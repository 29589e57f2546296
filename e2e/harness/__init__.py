"""What the end-to-end tests are written with: a cluster, namespaces, daemons, and waiting with a deadline."""
