"""Installs what a cluster gets from `kubectl apply -k manifests/`, but for the Deployment: here the daemon is a process.

The daemon then runs as the shipped ServiceAccount, so all rights it has are those of the shipped manifests.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import yaml

from volcano_py.api.names import SYSTEM_NAMESPACE
from volcano_py.local.client import APIClient
from volcano_py.local.controlplane import service_account_token
from volcano_py.local.kubeconfig import with_token
from volcano_py.local.kubectl import Kubectl
from volcano_py.local.shipped import shipped

SERVICE_ACCOUNT: Final = "volcano-scheduler"
"""Volcano's own name for it."""

_ESTABLISHED_SECONDS = 60


async def install(kubectl: Kubectl) -> None:
    """Install CRDs, namespace, RBAC, priority classes and configuration, and wait until the CRDs are served."""
    rendered = await kubectl("kustomize", str(shipped("manifests")))
    documents = [document for document in yaml.safe_load_all(rendered) if document]
    await apply_crds(kubectl, [document for document in documents if is_crd(document)])
    # The Service and the disruption budget would select pods of the Deployment.
    await apply(kubectl, [document for document in documents if not is_crd(document) and not _is_deployed(document)])


def is_crd(document: dict[str, Any]) -> bool:
    """Whether the object defines a kind."""
    return document.get("kind") == "CustomResourceDefinition"


async def apply_crds(kubectl: Kubectl, crds: list[dict[str, Any]]) -> None:
    """Server-side apply CRDs, and wait until objects of their kinds can be created."""
    if crds:
        await apply(kubectl, crds)
        names = [f"crd/{crd['metadata']['name']}" for crd in crds]
        await kubectl("wait", "--for=condition=Established", f"--timeout={_ESTABLISHED_SECONDS}s", *names)


async def apply(kubectl: Kubectl, documents: list[dict[str, Any]]) -> None:
    """Server-side apply objects, in their order."""
    if documents:
        await kubectl.apply("\n---\n".join(json.dumps(document, default=str) for document in documents))


async def scheduler_kubeconfig(kubectl: Kubectl, client: APIClient, path: Path) -> Path:
    """Write a kubeconfig to `path` with a token of the shipped ServiceAccount."""
    token = await service_account_token(client, SYSTEM_NAMESPACE, SERVICE_ACCOUNT)
    view = await kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json")
    return with_token(path, json.loads(view), token)


def _is_deployed(document: dict[str, Any]) -> bool:
    return document["kind"] == "Deployment"
