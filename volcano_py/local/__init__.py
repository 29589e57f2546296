"""A local Kubernetes control plane: a real API server, its etcd and controllers, and simulated nodes.

`volcano-py up`, the e2e suite and the benchmarks run against it. Start at `controlplane.ControlPlane`.
"""
