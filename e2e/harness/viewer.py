"""A user who may look: the ClusterRole `view` in all namespaces, and nodes. Queues are part of `view` as installed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from e2e.harness.install import kubeconfig_view
from e2e.harness.namespace import Namespace
from volcano_py.local.client import APIClient
from volcano_py.local.controlplane import service_account_token
from volcano_py.local.workdir.kubeconfig import with_token

_RBAC = "/apis/rbac.authorization.k8s.io/v1"


@asynccontextmanager
async def viewer_of(namespace: Namespace, directory: Path, *, everywhere: bool = True) -> AsyncIterator[Path]:
    """The kubeconfig of such a user, whose rights end with the block. If not `everywhere`, `view` holds in the
    namespace alone, and queues may be read, too, which belong to none."""
    admin, name = namespace.cluster, f"{namespace.name}-viewer"
    await admin.client.create(f"/api/v1/namespaces/{namespace.name}/serviceaccounts", {"metadata": {"name": "viewer"}})
    kinds = {"": "nodes"} if everywhere else {"": "nodes", "scheduling.volcano.sh": "queues"}
    rules = [{"apiGroups": [group], "resources": [kind], "verbs": ["get", "list"]} for group, kind in kinds.items()]
    await admin.client.create(f"{_RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    everywhere_bound = f"{_RBAC}/clusterrolebindings"
    inside = f"{_RBAC}/namespaces/{namespace.name}/rolebindings"
    for role, bindings in {"view": everywhere_bound if everywhere else inside, name: everywhere_bound}.items():
        await admin.client.create(
            bindings,
            {
                "metadata": {"name": f"{name}-{role}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": namespace.name}],
            },
        )
    token = await service_account_token(admin.client, namespace.name, "viewer")
    path = with_token(directory / "viewer.kubeconfig", await kubeconfig_view(admin), token)
    async with APIClient(path) as client:

        async def allowed() -> None:
            await client.get("/api/v1/nodes")
            where = "" if everywhere else f"/namespaces/{namespace.name}"
            await client.get(f"/api/v1{where}/pods")
            await client.get(f"/apis/scheduling.volcano.sh/v1beta1{where}/podgroups")

        await admin.eventually("the viewer has its rights", allowed)
    yield path
    for role in ("view", name) if everywhere else (name,):
        await admin.delete(f"{_RBAC}/clusterrolebindings/{name}-{role}")
    await admin.delete(f"{_RBAC}/clusterroles/{name}")
