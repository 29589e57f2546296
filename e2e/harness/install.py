"""Installs what a cluster gets from `kubectl apply -k manifests/`, but for the Deployment: the tests run the daemon."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from e2e.harness.cluster import Cluster
from e2e.harness.views import listed
from volcano_py.api.names import CONFIG_KEY as CONFIG_KEY
from volcano_py.api.names import CONFIG_MAP as CONFIG_MAP
from volcano_py.api.names import SYSTEM_NAMESPACE as SYSTEM_NAMESPACE
from volcano_py.local.client import APIError
from volcano_py.local.install import SERVICE_ACCOUNT as SERVICE_ACCOUNT
from volcano_py.local.install import install as everything_but_the_deployment

REPOSITORY = Path(__file__).parents[2]

LEASE = "volcano"
"""Volcano's own name for it."""

CONFIG_MAP_PATH = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/configmaps/{CONFIG_MAP}"
LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/leases/{LEASE}"

DEPLOYMENT_PATH = f"/apis/apps/v1/namespaces/{SYSTEM_NAMESPACE}/deployments/volcano-py"

_STOPPED_SECONDS = 60.0
"""Twice the grace period of the Deployment's pods."""


async def install(cluster: Cluster) -> None:
    """Install CRDs, namespace, RBAC, priority classes and configuration, and wait until the CRDs are served."""
    await everything_but_the_deployment(cluster.kubectl)


@asynccontextmanager
async def deployment_at_rest(cluster: Cluster) -> AsyncIterator[None]:
    """Scale a scheduler that is deployed in the cluster to zero for as long as the block lasts.

    It would hold the Lease, and the tests' own daemons would only stand by.
    """
    try:
        deployment = await cluster.client.get(DEPLOYMENT_PATH)
    except APIError as error:
        if error.status != 404:
            raise
        yield
        return

    async def stopped() -> None:
        pods = await cluster.pods(SYSTEM_NAMESPACE, "app.kubernetes.io/name=volcano-py")
        assert not pods, listed(pods)

    await cluster.client.merge_patch(DEPLOYMENT_PATH, {"spec": {"replicas": 0}})
    try:
        await cluster.eventually("the deployed scheduler is gone", stopped, seconds=_STOPPED_SECONDS)
        await give_lease_back(cluster)
        yield
    finally:
        await cluster.client.merge_patch(DEPLOYMENT_PATH, {"spec": {"replicas": deployment["spec"]["replicas"]}})


async def give_lease_back(cluster: Cluster) -> None:
    """For a leader that was killed, as it would have done itself. A deleted Lease would not do: in a cluster with bound
    pods a replica that finds no Lease waits, because another leader may not have noticed yet."""
    try:
        await cluster.client.merge_patch(LEASE_PATH, {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}})
    except APIError as error:
        if error.status != 404:
            raise


async def kubeconfig_view(cluster: Cluster) -> dict[str, Any]:
    """The administrator's kubeconfig, everything inline."""
    view = await cluster.kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json")
    parsed: dict[str, Any] = json.loads(view)
    return parsed
