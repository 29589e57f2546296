"""Creates the objects of manifests on a local control plane.

Manifests may come from another cluster (`kubectl get … -o yaml`): what a server adds to objects is taken off again, and
every Node becomes a simulated one of the same size.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from volcano_py.local.controlplane import ControlPlane, wait_for_default_service_account
from volcano_py.local.install import apply, apply_crds, is_crd
from volcano_py.local.nodes import DEFAULT_ALLOCATABLE, simulated_node

_SET_BY_SERVERS = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    # UIDs of another cluster: the garbage collector would delete what belongs to nobody here.
    "ownerReferences",
)

_MAKES_PODS = frozenset(
    {"CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"}
)


async def create_objects(control_plane: ControlPlane, documents: Iterable[dict[str, Any]]) -> None:
    """Create everything, in an order in which no object misses another; pods come last.

    Raises:
        LocalError: the API server refuses an object.
    """
    nodes, namespaces, crds, pods, workloads, others = [], [], [], [], [], []
    for document in documents:
        kind = document.get("kind")
        if kind == "Node":
            nodes.append(_node(document))
        elif kind == "Pod":
            pods.append(_clean(document))
        elif kind == "Namespace":
            namespaces.append(_clean(document))
        elif is_crd(document):
            crds.append(_clean(document))
        else:
            (workloads if kind in _MAKES_PODS else others).append(_clean(document))
    kubectl, client = control_plane.kubectl, control_plane.client
    await apply(kubectl, namespaces)
    await apply_crds(kubectl, crds)
    await apply(kubectl, others)
    await client.create_many("/api/v1/nodes", nodes)
    for namespace in namespaces:
        await wait_for_default_service_account(client, namespace["metadata"]["name"])
    # Not by kubectl, which takes seconds for every few hundred objects, and cannot create by generateName.
    by_namespace: dict[str, list[dict[str, Any]]] = {}
    for pod in pods:
        by_namespace.setdefault(pod["metadata"].get("namespace") or "default", []).append(pod)
    for name, members in by_namespace.items():
        await client.create_many(f"/api/v1/namespaces/{name}/pods", members)
    await apply(kubectl, workloads)


def _clean(document: dict[str, Any]) -> dict[str, Any]:
    """The object as its author would have written it."""
    metadata = {key: value for key, value in _mapping(document, "metadata").items() if key not in _SET_BY_SERVERS}
    return {key: value for key, value in document.items() if key != "status"} | {"metadata": metadata}


def _node(document: dict[str, Any]) -> dict[str, Any]:
    """A simulated node with the name, labels, taints and size of this one."""
    metadata, spec, status = (_mapping(document, field) for field in ("metadata", "spec", "status"))
    node = simulated_node(
        metadata.get("name", ""),
        allocatable=_mapping(status, "allocatable") or _mapping(status, "capacity") or DEFAULT_ALLOCATABLE,
        labels=_mapping(metadata, "labels"),
        taints=spec.get("taints") or (),
        annotations=_mapping(metadata, "annotations"),
    )
    if spec.get("unschedulable"):
        node["spec"]["unschedulable"] = True
    if status.get("images"):
        node["status"]["images"] = status["images"]
    return node


def _mapping(document: dict[str, Any], field: str) -> dict[str, Any]:
    return document.get(field) or {}
