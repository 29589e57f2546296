"""How other schedulers sign in to the cluster that is measured: as in a real one, with the same rights.

How it signs in is part of what a request costs the API server, and what a certificate costs it every time, it works
out for a token once in ten seconds. What runs in a pod has the token of a ServiceAccount; kube-scheduler has a
certificate wherever kubeadm has set up the cluster.
"""

from __future__ import annotations

from pathlib import Path

from volcano_py.api.names import SYSTEM_NAMESPACE
from volcano_py.local.components import KUBE_SCHEDULER_USER
from volcano_py.local.controlplane import ControlPlane

_BENCH = "volcano-bench"
_RBAC = "rbac.authorization.k8s.io"


def as_kube_scheduler(plane: ControlPlane) -> Path:
    """A kubeconfig of the user that every API server gives a scheduler's rights."""
    return plane.kubeconfig_for_user(KUBE_SCHEDULER_USER)


async def all_powerful(plane: ControlPlane) -> Path:
    """A kubeconfig of a new ServiceAccount that may do everything: for bare bindings, and for schedulers unknown."""
    await plane.client.create(f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/serviceaccounts", {"metadata": {"name": _BENCH}})
    await plane.client.create(
        f"/apis/{_RBAC}/v1/clusterrolebindings",
        {
            "metadata": {"name": _BENCH},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": _BENCH, "namespace": SYSTEM_NAMESPACE}],
        },
    )
    return await plane.kubeconfig_for_service_account(SYSTEM_NAMESPACE, _BENCH)
