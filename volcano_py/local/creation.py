"""Creates the objects of manifests on a local control plane.

Manifests may come from another cluster (`kubectl get … -o yaml`): what a server adds to objects is taken off again, and
every Node becomes a simulated one of the same size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum, auto
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
    # UIDs of another cluster: the garbage collector would delete what has no owner here.
    "ownerReferences",
)

_MAKES_PODS = frozenset(
    {"CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"}
)


class _Step(Enum):
    """What is created together."""

    NAMESPACES = auto()
    CRDS = auto()
    NODES = auto()
    PODS = auto()
    WORKLOADS = auto()
    OTHERS = auto()


async def create_objects(control_plane: ControlPlane, documents: Iterable[dict[str, Any]]) -> None:
    """Create everything, in an order in which no object misses another; pods come last.

    Raises:
        LocalError: the API server refuses an object.
    """
    steps: defaultdict[_Step, list[dict[str, Any]]] = defaultdict(list)
    for document in documents:
        step = _step(document)
        steps[step].append(_node(document) if step is _Step.NODES else _clean(document))
    kubectl, client = control_plane.kubectl, control_plane.client
    await apply(kubectl, steps[_Step.NAMESPACES])
    await apply_crds(kubectl, steps[_Step.CRDS])
    await apply(kubectl, steps[_Step.OTHERS])
    await client.create_many("/api/v1/nodes", steps[_Step.NODES])
    for namespace in steps[_Step.NAMESPACES]:
        await wait_for_default_service_account(client, namespace["metadata"]["name"])
    # Not by kubectl, which takes seconds for every few hundred objects, and cannot create by generateName. Pods that
    # have a node come first, or the scheduler may give their room to those that wait.
    pods: defaultdict[tuple[bool, str], list[dict[str, Any]]] = defaultdict(list)
    for pod in steps[_Step.PODS]:
        waits = not _mapping(pod, "spec").get("nodeName")
        pods[waits, pod["metadata"].get("namespace") or "default"].append(pod)
    for (_, name), members in sorted(pods.items(), key=lambda item: item[0][0]):
        await client.create_many(f"/api/v1/namespaces/{name}/pods", members)
    await apply(kubectl, steps[_Step.WORKLOADS])


def _step(document: dict[str, Any]) -> _Step:
    kind = document.get("kind")
    if is_crd(document):
        return _Step.CRDS
    if kind in _MAKES_PODS:
        return _Step.WORKLOADS
    return {"Namespace": _Step.NAMESPACES, "Node": _Step.NODES, "Pod": _Step.PODS}.get(str(kind), _Step.OTHERS)


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
