"""Claims, volumes and storage classes for tests, and pods that use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from tests.support.sessions import NAMESPACE, Objects, Opened, node, open_session, pod, pod_group
from volcano_py.api.objects import (
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaimSource,
    Pod,
    ResourceRequirements,
    SelectorRequirement,
    Volume,
)
from volcano_py.api.volumes import (
    BIND_COMPLETED,
    IMMEDIATE,
    NO_PROVISIONER,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    ClaimReference,
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CsiNodeDriver,
    CSINodeSpec,
    CSIStorageCapacity,
    CsiVolumeLimits,
    CsiVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    TopologySelectorTerm,
    VolumeNodeAffinity,
)
from volcano_py.plugins.predicates import Predicates

HOST = "kubernetes.io/hostname"
LOCAL = "local"
"""A storage class whose volumes exist already."""
MADE = "made"
"""A storage class whose volumes are made when they are asked for."""


def storage_class(
    name: str,
    *,
    provisioner: str = NO_PROVISIONER,
    waits: bool = True,
    zones: Sequence[str] = (),
    annotations: Mapping[str, str] | None = None,
) -> StorageClass:
    """A class that waits for a pod; `zones` is where volumes can be made."""
    expression = SelectorRequirement(key="topology.kubernetes.io/zone", values=list(zones))
    return StorageClass(
        metadata=ObjectMeta(name=name, uid=f"class-{name}", annotations=dict(annotations or {})),
        provisioner=provisioner,
        volume_binding_mode=WAIT_FOR_FIRST_CONSUMER if waits else IMMEDIATE,
        allowed_topologies=[TopologySelectorTerm(match_label_expressions=[expression])] if zones else [],
    )


def volume(
    name: str,
    *,
    on: Sequence[str] | None = None,
    size: str = "100Gi",
    of: str = LOCAL,
    modes: Sequence[str] = ("ReadWriteOnce",),
    volume_mode: str = "Filesystem",
    labels: Mapping[str, str] | None = None,
    claim: str = "",
    claim_uid: str = "",
    phase: str = "",
    driver: str = "",
    deleting: bool = False,
) -> PersistentVolume:
    """A volume for the nodes `on` (by host name label; None: all), kept for `claim` (in the tests' namespace)."""
    reference = ClaimReference(namespace=NAMESPACE, name=claim, uid=claim_uid) if claim else None
    affinity = None
    if on is not None:
        expression = SelectorRequirement(key=HOST, operator="In", values=list(on))
        term = NodeSelectorTerm(match_expressions=[expression])
        affinity = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=[term]))
    return PersistentVolume(
        metadata=ObjectMeta(
            name=name, uid=f"pv-{name}", labels=dict(labels or {}), deletion_timestamp=_NOW if deleting else None
        ),
        spec=PersistentVolumeSpec(
            capacity={"storage": size},
            access_modes=list(modes),
            claim_ref=reference,
            storage_class_name=of,
            volume_mode=volume_mode,
            node_affinity=affinity,
            csi=CsiVolumeSource(driver=driver, volume_handle=name) if driver else None,
        ),
        status=PersistentVolumeStatus(phase=phase or ("Bound" if claim else "Available")),
    )


def claim(
    name: str,
    *,
    of: str | None = LOCAL,
    size: str = "10Gi",
    modes: Sequence[str] = ("ReadWriteOnce",),
    volume_mode: str = "Filesystem",
    selector: Mapping[str, str] | None = None,
    bound_to: str = "",
    named: str = "",
    node: str = "",
    phase: str = "",
    owner: str = "",
    uid: str = "",
    deleting: bool = False,
) -> PersistentVolumeClaim:
    """A claim; `bound_to` a volume for good, `named` one that it asks for; `node` is the selected one, `owner` a pod's
    UID."""
    annotations = {BIND_COMPLETED: "yes"} if bound_to else {}
    if node:
        annotations[SELECTED_NODE] = node
    return PersistentVolumeClaim(
        metadata=ObjectMeta(
            namespace=NAMESPACE,
            name=name,
            uid=uid or f"claim-{name}",
            annotations=annotations,
            owner_references=[OwnerReference(kind="Pod", uid=owner, controller=True)] if owner else [],
            deletion_timestamp=_NOW if deleting else None,
        ),
        spec=PersistentVolumeClaimSpec(
            volume_name=bound_to or named,
            storage_class_name=of,
            access_modes=list(modes),
            volume_mode=volume_mode,
            resources=ResourceRequirements(requests={"storage": size}),
            selector=LabelSelector(match_labels=dict(selector)) if selector is not None else None,
        ),
        status=PersistentVolumeClaimStatus(phase=phase or ("Bound" if bound_to else "Pending")),
    )


def using(pod: Pod, *claims: str, ephemeral: Sequence[str] = ()) -> Pod:
    """The pod with these claims by name, and ephemeral volumes of these names."""
    volumes = [
        Volume(name=f"v{number}", persistent_volume_claim=PersistentVolumeClaimSource(claim_name=name))
        for number, name in enumerate(claims)
    ]
    volumes += [Volume(name=name, ephemeral={}) for name in ephemeral]
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, volumes=volumes))


def csi_node(name: str, **limits: int | None) -> CSINode:
    """The drivers of a node, and how many volumes each can attach (None: unknown)."""
    drivers = [CsiNodeDriver(name=driver, allocatable=CsiVolumeLimits(count=count)) for driver, count in limits.items()]
    return CSINode(metadata=ObjectMeta(name=name, uid=f"csinode-{name}"), spec=CSINodeSpec(drivers=drivers))


def csi_driver(name: str, *, reports_capacity: bool = True) -> CSIDriver:
    spec = CSIDriverSpec(storage_capacity=reports_capacity)
    return CSIDriver(metadata=ObjectMeta(name=name, uid=f"driver-{name}"), spec=spec)


def capacity(
    name: str,
    *,
    of: str = MADE,
    free: str | None = None,
    largest: str | None = None,
    nodes: Mapping[str, str] | None = None,
) -> CSIStorageCapacity:
    """Room of a class for the nodes with these labels (None: for none)."""
    return CSIStorageCapacity(
        metadata=ObjectMeta(namespace="kube-system", name=name, uid=f"capacity-{name}"),
        storage_class_name=of,
        capacity=free,
        maximum_volume_size=largest,
        node_topology=LabelSelector(match_labels=dict(nodes)) if nodes is not None else None,
    )


_NOW = datetime(2026, 11, 2, tzinfo=UTC)


# -- sessions of predicates over pods with claims -----------------------------------------------------------------

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
CLASSES = (storage_class(LOCAL), storage_class(MADE, provisioner="disk.csi"))


def nodes() -> list[Any]:
    """n1 and n2 in zone a, n3 in zone b."""
    zones = {"n1": "a", "n2": "a", "n3": "b"}
    return [node(name, labels={HOST: name, ZONE: zone}) for name, zone in zones.items()]


def session(*objects: Objects, at: list[Any] | None = None, **switches: Any) -> Opened:
    arguments = {f"predicate.{name}Enable": value for name, value in switches.items()}
    tiers = [[(Predicates, {"arguments": arguments})]]
    return open_session(CLASSES, *objects, pod_group("g", min_member=2), at or nodes(), tiers=tiers)


def mine(*claims: str, name: str = "p") -> Any:
    return using(pod(name, group="g", cpu="1"), *claims)
