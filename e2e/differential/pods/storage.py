"""Claims, volumes and storage classes of a generated cluster: those that its pods use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from e2e.differential.words import HOST, ZONE, Manifest, Words

DRIVER: Final = "csi.differential"
CLAIMS: Final = "/api/v1/namespaces/{}/persistentvolumeclaims"
VOLUMES: Final = "/api/v1/persistentvolumes"
CLASSES: Final = "/apis/storage.k8s.io/v1/storageclasses"
CSI_NODES: Final = "/apis/storage.k8s.io/v1/csinodes"

BOUND_CLAIMS: Final = ("zone", "host", "labelled", "anywhere", "once")
"""Kinds of claims that have their volume, usable in a zone, on a node, by the labels of the volume, anywhere, and by
one pod at a time."""
OPEN_CLAIMS: Final = ("static", "made", "late", "missing")
"""Kinds that have none: to be chosen from volumes of nodes, to be made in some zones, overdue, and not there at all."""

_CAPACITIES: Final = ("1Gi", "5Gi")
_ASKED: Final = "2Gi"


@dataclass(frozen=True, slots=True)
class Stored:
    """One object: where it is created, and what its status then becomes."""

    path: str
    manifest: Manifest
    phase: str = ""


def make_storage(words: Words) -> list[Stored]:
    """What the claims that were mentioned need, and how many volumes some nodes take."""
    stored = [_csi_node(words, node) for node in words.nodes if words.chance(0.4)]
    if any(kind == "static" for _, kind in words.claims):
        stored += [_class(words, "static", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")]
        stored += [_local_volume(words, index) for index in range(words.between(0, 3))]
    if any(kind == "made" for _, kind in words.claims):
        made = _class(words, "made", DRIVER, "WaitForFirstConsumer")
        if words.chance(0.7):
            zones = {"key": words.zone, "values": words.some_of(("a", "b", "c"), 1, 2)}
            made.manifest["allowedTopologies"] = [{"matchLabelExpressions": [zones]}]
        stored.append(made)
    if any(kind == "late" for _, kind in words.claims):
        stored.append(_class(words, "late", DRIVER, "Immediate"))
    for namespace, kind in sorted(words.claims):
        if kind in BOUND_CLAIMS:
            stored += _bound(words, namespace, kind)
        elif kind != "missing":
            stored.append(Stored(CLAIMS.format(namespace), _claim(words, kind, f"{kind}-{words.cluster}")))
    return stored


def claim_name(words: Words, kind: str) -> str:
    """Of the claim of that kind; each namespace has one of its own."""
    return f"{words.cluster}-{kind}"


def _class(words: Words, kind: str, provisioner: str, mode: str) -> Stored:
    name = f"{kind}-{words.cluster}"
    return Stored(CLASSES, {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode})


def _claim(words: Words, kind: str, class_name: str) -> Manifest:
    return {
        "metadata": {"name": claim_name(words, kind)},
        "spec": {
            "storageClassName": class_name,
            "accessModes": ["ReadWriteOncePod" if kind == "once" else "ReadWriteOnce"],
            "resources": {"requests": {"storage": _ASKED}},
        },
    }


def _bound(words: Words, namespace: str, kind: str) -> list[Stored]:
    """A claim and its volume, as Kubernetes' binder leaves them."""
    claim = _claim(words, kind, "")
    name = f"{claim['metadata']['name']}-{namespace}"
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    claim["spec"]["volumeName"] = name
    volume = _volume(name, "5Gi", claim["spec"]["accessModes"], "")
    volume["spec"]["claimRef"] = {"namespace": namespace, "name": claim["metadata"]["name"]}
    volume["spec"]["csi"] = {"driver": DRIVER, "volumeHandle": name}
    if kind == "zone":
        volume["spec"]["nodeAffinity"] = _affinity(words.zone, words.some_of(("a", "b", "c"), 1, 2))
    elif kind == "host":
        volume["spec"]["nodeAffinity"] = _affinity(HOST, [words.one_of(words.nodes)])
    elif kind == "labelled":
        volume["metadata"]["labels"] = {ZONE: words.one_of(("a", "a__b", "c"))}
    return [Stored(VOLUMES, volume, "Bound"), Stored(CLAIMS.format(namespace), claim, "Bound")]


def _local_volume(words: Words, index: int) -> Stored:
    """One that waits for a claim, on one of the nodes."""
    class_name = f"static-{words.cluster}"
    volume = _volume(f"{words.cluster}-local-{index}", words.one_of(_CAPACITIES), ["ReadWriteOnce"], class_name)
    volume["spec"]["local"] = {"path": "/mnt/any"}
    volume["spec"]["nodeAffinity"] = _affinity(HOST, [words.one_of(words.nodes)])
    return Stored(VOLUMES, volume, "Available")


def _volume(name: str, capacity: str, modes: list[str], class_name: str) -> Manifest:
    spec = {"capacity": {"storage": capacity}, "accessModes": modes, "storageClassName": class_name}
    return {"metadata": {"name": name}, "spec": {**spec, "persistentVolumeReclaimPolicy": "Retain"}}


def _affinity(key: str, values: list[str]) -> dict[str, Any]:
    requirement = {"key": key, "operator": "In", "values": values}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}


def _csi_node(words: Words, node: str) -> Stored:
    driver = {"name": DRIVER, "nodeID": node, "topologyKeys": [], "allocatable": {"count": words.between(1, 2)}}
    return Stored(CSI_NODES, {"metadata": {"name": node}, "spec": {"drivers": [driver]}})
