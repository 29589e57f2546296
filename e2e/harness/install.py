"""Installs what a cluster gets from `kubectl apply -k manifests/`, but for the Deployment: the tests run the daemon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from e2e.harness.cluster import Cluster

REPOSITORY = Path(__file__).parents[2]

SYSTEM_NAMESPACE = "volcano-system"
SERVICE_ACCOUNT = "volcano-scheduler"
CONFIG_MAP = "volcano-scheduler-configmap"
CONFIG_KEY = "volcano-scheduler.conf"
LEASE = "volcano"
"""Names of the shipped manifests; they are Volcano's own."""

CONFIG_MAP_PATH = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/configmaps/{CONFIG_MAP}"
LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/leases/{LEASE}"

_ESTABLISHED_SECONDS = 60


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


async def kubeconfig_view(cluster: Cluster) -> dict[str, Any]:
    """The administrator's kubeconfig, everything inline."""
    view = await cluster.kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json")
    parsed: dict[str, Any] = json.loads(view)
    return parsed
