"""Installs what a cluster gets from `kubectl apply -k manifests/`, but for the Deployment: the tests run the daemon."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from e2e.harness.cluster import Cluster
from e2e.harness.views import listed
from volcano_py.local.client import APIError

REPOSITORY = Path(__file__).parents[2]

SYSTEM_NAMESPACE = "volcano-system"
SERVICE_ACCOUNT = "volcano-scheduler"
CONFIG_MAP = "volcano-scheduler-configmap"
CONFIG_KEY = "volcano-scheduler.conf"
LEASE = "volcano"
"""Names of the shipped manifests; they are Volcano's own."""

CONFIG_MAP_PATH = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/configmaps/{CONFIG_MAP}"
LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/leases/{LEASE}"

DEPLOYMENT_PATH = f"/apis/apps/v1/namespaces/{SYSTEM_NAMESPACE}/deployments/volcano-py"

_ESTABLISHED_SECONDS = 60

_STOPPED_SECONDS = 60.0
"""Twice the grace period of the Deployment's pods."""


async def install(cluster: Cluster) -> None:
    """Install CRDs, namespace, RBAC, priority classes and configuration, and wait until the CRDs are served."""
    rendered = await cluster.kubectl("kustomize", str(REPOSITORY / "manifests"))
    documents: list[dict[str, Any]] = [document for document in yaml.safe_load_all(rendered) if document]
    crds = [document for document in documents if document["kind"] == "CustomResourceDefinition"]
    rest = [document for document in documents if document["kind"] not in ("CustomResourceDefinition", "Deployment")]
    await cluster.apply(crds)
    names = [f"crd/{document['metadata']['name']}" for document in crds]
    await cluster.kubectl("wait", "--for=condition=Established", f"--timeout={_ESTABLISHED_SECONDS}s", *names)
    await cluster.apply(rest)


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
        await cluster.delete(LEASE_PATH)
        yield
    finally:
        await cluster.client.merge_patch(DEPLOYMENT_PATH, {"spec": {"replicas": deployment["spec"]["replicas"]}})


async def kubeconfig_view(cluster: Cluster) -> dict[str, Any]:
    """The administrator's kubeconfig, everything inline."""
    view = await cluster.kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json")
    parsed: dict[str, Any] = json.loads(view)
    return parsed
