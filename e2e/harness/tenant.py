"""A tenant: a ServiceAccount with the rights of Kubernetes' ClusterRole `edit` in its own namespace, and no others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from e2e.harness.cluster import Cluster
from e2e.harness.install import kubeconfig_view
from e2e.harness.namespace import Namespace
from volcano_py.local.client import APIClient, APIError
from volcano_py.local.controlplane import service_account_token
from volcano_py.local.kubectl import Kubectl
from volcano_py.local.workdir.kubeconfig import with_token

_ACCOUNT = "tenant"

_RBAC = "rbac.authorization.k8s.io"


class Tenant:
    """A namespace of its own, and the rights of one of its users.

    `namespace` creates and reads as the administrator; `client` and `apply` act with the tenant's token.
    """

    def __init__(self, namespace: Namespace, cluster: Cluster, client: APIClient) -> None:
        self.namespace = namespace
        self.client = client
        self._cluster = cluster

    @property
    def name(self) -> str:
        """The name of its namespace."""
        return self.namespace.name

    async def apply(self, *objects: dict[str, Any]) -> None:
        """Server-side apply objects in its namespace, with its token."""
        await self._cluster.apply(objects, self.name)


@asynccontextmanager
async def tenant_of(namespace: Namespace, directory: Path) -> AsyncIterator[Tenant]:
    """Give a namespace a user with the rights of `edit`; `directory` gets the user's kubeconfig."""
    admin = namespace.cluster
    await admin.client.create(f"/api/v1/namespaces/{namespace.name}/serviceaccounts", {"metadata": {"name": _ACCOUNT}})
    await admin.client.create(
        f"/apis/{_RBAC}/v1/namespaces/{namespace.name}/rolebindings",
        {
            "metadata": {"name": _ACCOUNT},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"kind": "ServiceAccount", "name": _ACCOUNT, "namespace": namespace.name}],
        },
    )
    token = await service_account_token(admin.client, namespace.name, _ACCOUNT)
    path = with_token(directory / f"{namespace.name}.kubeconfig", await kubeconfig_view(admin), token)
    async with APIClient(path) as client:
        await _wait_allowed(admin, client, namespace.name)
        yield Tenant(namespace, Cluster(path, Kubectl(admin.kubectl.binary, path), client, None), client)


async def _wait_allowed(admin: Cluster, client: APIClient, namespace: str) -> None:
    """Wait until the new binding is in force, and until `edit` includes our CRDs (both take the server a moment)."""

    async def allowed() -> None:
        await client.get(f"/api/v1/namespaces/{namespace}/pods")
        await client.get(f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups")

    await admin.eventually(f"the tenant of {namespace} has its rights", allowed)
    with pytest.raises(APIError, match="403"):
        await client.get("/api/v1/namespaces/kube-system/pods")
