"""Services and owners of pods, which say which pods belong together: those without constraints are spread by that."""

from __future__ import annotations

from typing import Any, Final

from e2e.differential.pods.storage import Stored
from e2e.differential.words import APPS, CLUSTER_LABEL, NAMESPACES, TIERS, Manifest, Words

SERVICES: Final = "/api/v1/namespaces/{}/services"
_OWNERS: Final = {
    "ReplicaSet": ("apps/v1", "/apis/apps/v1/namespaces/{}/replicasets"),
    "StatefulSet": ("apps/v1", "/apis/apps/v1/namespaces/{}/statefulsets"),
    "ReplicationController": ("v1", "/api/v1/namespaces/{}/replicationcontrollers"),
}
PATHS: Final = (SERVICES, *(path for _, path in _OWNERS.values()))


def add_owner(words: Words, pod: Manifest) -> None:
    """Its selector need not match the pod; one of another API version, or that is not there, is asked nothing."""
    kind = words.one_of(tuple(_OWNERS))
    version, _ = _OWNERS[kind]
    if words.chance(0.9):
        words.owners.add((pod["metadata"]["namespace"], kind))
    if words.chance(0.1):
        version = "example.com/v1"
    name = _owner_name(words, kind)
    pod["metadata"]["ownerReferences"] = [
        {"apiVersion": version, "kind": kind, "name": name, "uid": f"{name}-uid", "controller": words.chance(0.9)}
    ]


def make_selecting(words: Words) -> list[Stored]:
    """The owners that were mentioned, and Services."""
    owners = [_owner(words, namespace, kind) for namespace, kind in sorted(words.owners)]
    return [*owners, *(_service(words, index) for index in range(words.between(0, 5)))]


def _owner_name(words: Words, kind: str) -> str:
    return f"{words.cluster}-{kind.lower()}"


def _service(words: Words, index: int) -> Stored:
    spec: dict[str, Any] = {"clusterIP": "None", "ports": [{"port": 80}]}
    if words.chance(0.9):
        spec["selector"] = _some_labels(words)
    namespace = words.namespace()
    return Stored(SERVICES.format(namespace), {"metadata": {"name": f"{words.cluster}-{index}"}, "spec": spec})


def _owner(words: Words, namespace: str, kind: str) -> Stored:
    """Its template is never used, but has to match its selector."""
    labels = _some_labels(words)
    selector: dict[str, Any] = {"matchLabels": dict(labels)}
    if words.chance(0.4):
        app = labels.pop("app")
        selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": [app]}]}
        selector["matchExpressions"].append({"key": "revision", "operator": "DoesNotExist"})
        labels = {"app": app}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "any"}]}}
    spec: dict[str, Any] = {"replicas": words.between(0, 3), "template": template}
    spec["selector"] = labels if kind == "ReplicationController" else selector
    if kind == "StatefulSet":
        spec["serviceName"] = "any"
    _, path = _OWNERS[kind]
    return Stored(path.format(namespace), {"metadata": {"name": _owner_name(words, kind)}, "spec": spec})


def _some_labels(words: Words) -> dict[str, str]:
    labels = {"app": words.one_of(APPS)}
    if words.chance(0.3):
        labels["tier"] = words.one_of(TIERS)
    if words.chance(0.4):
        labels[CLUSTER_LABEL] = words.cluster
    return labels


def all_paths() -> list[str]:
    """Of the collections that have to be cleared away."""
    return [path.format(namespace) for path in PATHS for namespace in NAMESPACES]
