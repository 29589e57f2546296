"""Installs what `kubectl apply -k manifests/` does, except the Deployment: here the daemon is a separate process.

The daemon then runs as the shipped ServiceAccount, so all rights it has are those of the shipped manifests.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import yaml

from volcano_py.api.names import ADMISSION, CONFIG_KEY, CONFIG_MAP, SCHEDULING_API, SYSTEM_NAMESPACE
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.local.client import APIError
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.errors import LocalError
from volcano_py.local.kubectl import Kubectl
from volcano_py.shipped import shipped

SERVICE_ACCOUNT: Final = "volcano-scheduler"
"""The daemon's, in the namespace volcano-system; the name is Volcano's own."""

_ESTABLISHED_SECONDS = 60

_PROBE: Final = "volcano-py-admission-probe"
_NOWHERE: Final = "volcano-py-nowhere"
_DRY_RUN: Final = f"/apis/{SCHEDULING_API}/queues?dryRun=All"
_ANSWER_TRIES: Final = 300
_ANSWER_PAUSE: Final = 0.2  # seconds


async def daemon_kubeconfig(plane: ControlPlane) -> Path:
    """A kubeconfig with a token of the shipped ServiceAccount; what it may do is there once `install` has returned."""
    return await plane.kubeconfig_for_service_account(SYSTEM_NAMESPACE, SERVICE_ACCOUNT)


async def daemon_environment(plane: ControlPlane) -> dict[str, str]:
    """The variables with which the daemon logs in as its Deployment does, in a pod of the shipped ServiceAccount."""
    return await plane.pod_environment(SYSTEM_NAMESPACE, SERVICE_ACCOUNT)


async def install(kubectl: Kubectl, configuration: str | None = None) -> None:
    """Install CRDs, namespace, RBAC, priority classes and configuration; the CRDs are served when it returns.

    `configuration`: what the scheduler's ConfigMap has instead of the shipped text.
    """
    rendered = await kubectl("kustomize", str(shipped("manifests")))
    documents: list[dict[str, Any]] = [document for document in yaml.safe_load_all(rendered) if document]
    for document in documents:
        if configuration is not None and document["metadata"]["name"] == CONFIG_MAP:
            document["data"][CONFIG_KEY] = configuration
    await apply_crds(kubectl, [document for document in documents if is_crd(document)])
    await apply(kubectl, [each for each in documents if not is_crd(each) and each["kind"] != "Deployment"])


async def install_admission(kubectl: Kubectl, url: str) -> None:
    """Install the webhook configurations, and what the daemon needs to keep their certificates.

    `url` is where the daemon answers, such as `https://127.0.0.1:8443`: here the API server reaches no Service.
    """
    rendered = await kubectl("kustomize", str(shipped("manifests") / "overlays" / "admission"))
    documents = [document for document in yaml.safe_load_all(rendered) if document]
    for document in documents:
        for webhook in document.get("webhooks") or ():
            webhook["clientConfig"] = {"url": url + webhook["clientConfig"]["service"]["path"]}
    await apply(kubectl, [each for each in documents if each["metadata"]["name"] == ADMISSION])


class Creating(Protocol):
    """What creates objects: an `APIClient`."""

    async def create(self, path: str, body: Mapping[str, Any]) -> Any:
        """The object as the server answers."""


async def admission_answers(client: Creating, clock: Clock = SYSTEM_CLOCK) -> None:
    """Return when the API server asks, trusts and understands both webhooks of queues.

    It learns of the webhooks' certificate by a watch of its own, after the webhooks are ready: until then objects get
    in that must be refused, because `failurePolicy` is Ignore. Nothing is stored by asking.

    Raises:
        LocalError: it still does not after a minute.
    """
    body = {"apiVersion": SCHEDULING_API, "kind": "Queue", "metadata": {"name": _PROBE}, "spec": {"weight": 1}}
    refused: dict[str, Any] = body | {"spec": {"weight": 1, "parent": _NOWHERE}}
    answer = "nothing"
    for _ in range(_ANSWER_TRIES):
        try:
            await client.create(_DRY_RUN, refused)
            answer = "it accepts a queue whose parent does not exist"
        except APIError as error:
            answer = str(error)
            if f"{_NOWHERE} does not exist" in answer:
                filled = await client.create(_DRY_RUN, body)
                if "reclaimable" in filled["spec"]:
                    return
                answer = "it fills in no defaults"
        await clock.sleep(_ANSWER_PAUSE)
    raise LocalError(f"the API server is not answered by the admission webhooks: {answer}")


def is_crd(document: dict[str, Any]) -> bool:
    """Whether the object defines a kind."""
    return document.get("kind") == "CustomResourceDefinition"


async def apply_crds(kubectl: Kubectl, crds: Sequence[dict[str, Any]]) -> None:
    """Server-side apply CRDs, and wait until objects of their kinds can be created."""
    names = [f"crd/{crd['metadata']['name']}" for crd in crds]
    if names:
        await apply(kubectl, crds)
        await kubectl("wait", "--for=condition=Established", f"--timeout={_ESTABLISHED_SECONDS}s", *names)


async def apply(kubectl: Kubectl, documents: Iterable[dict[str, Any]]) -> None:
    """Server-side apply objects, in their order."""
    # Dates in YAML become datetimes.
    text = "\n---\n".join(json.dumps(document, default=str) for document in documents)
    if text:
        await kubectl.apply(text)
