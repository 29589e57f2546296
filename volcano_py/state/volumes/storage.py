"""What a cycle knows about storage: values read off volumes, claims and storage classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from volcano_py.api.objects import LabelSelector, NodeSelector, ResourceList
from volcano_py.api.quantity import QuantityError, Rounding, parse_quantity, to_units
from volcano_py.api.volumes import (
    SELECTED_NODE,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from volcano_py.state.terms.selectors import selects
from volcano_py.state.volumes.needs import OpenNeed, Zone

ZONE_LABELS: Final = {
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Labels that say where a volume is, and the name each has had since Kubernetes 1.17."""
_LARGEST: Final = 2**63 - 1  # bytes; Kubernetes itself caps quantities there
_SEVERAL_ZONES: Final = "__"  # separates the zones of a volume that is in several


class Claim(msgspec.Struct, frozen=True):
    """A PersistentVolumeClaim. `owner` is the UID of its controlling owner."""

    key: str
    uid: str
    storage_class: str
    size: int
    access_modes: tuple[str, ...]
    volume_mode: str
    attributes_class: str
    selector: LabelSelector | None
    volume: str
    is_bound: bool
    is_lost: bool
    is_deleting: bool
    selected_node: str
    owner: str


class Volume(msgspec.Struct, frozen=True):
    """A PersistentVolume. `claim` (namespace/name) is the one that it is kept for, "" when there is none."""

    name: str
    uid: str
    storage_class: str
    size: int
    access_modes: tuple[str, ...]
    volume_mode: str
    attributes_class: str
    labels: Mapping[str, str]
    affinity: NodeSelector | None
    zones: tuple[Zone, ...]
    driver: str
    claim: str
    claim_uid: str
    is_available: bool
    is_deleting: bool

    @property
    def is_free(self) -> bool:
        """Whether any claim may have it."""
        return self.is_available and not self.claim and not self.is_deleting

    def is_for(self, need: OpenNeed) -> bool:
        """Whether a claim of this volume's storage class that asks for that may choose it."""
        return (
            self.suits(need)
            and set(need.access_modes) <= set(self.access_modes)
            and (need.selector is None or selects(need.selector, self.labels))
        )

    def suits(self, need: OpenNeed) -> bool:
        """Whether it is large enough and of the mode that is asked for; of a volume that is kept for the claim, no
        more than that is asked."""
        return (
            self.size >= need.size
            and self.volume_mode == need.volume_mode
            and self.attributes_class == need.attributes_class
            and not self.is_deleting
        )


class Capacity(msgspec.Struct, frozen=True):
    """Room for volumes of up to `largest` bytes of a class, for the nodes that `topology` selects."""

    storage_class: str
    largest: int
    topology: LabelSelector


class Storage(msgspec.Struct, frozen=True, eq=False):
    """The storage side of a snapshot; only what is not settled yet is in it."""

    classes: Mapping[str, StorageClass] = msgspec.field(default_factory=dict)
    free: Mapping[str, tuple[Volume, ...]] = msgspec.field(default_factory=dict)
    """Storage class → volumes that any claim may have, smallest first."""
    kept: Mapping[str, Volume] = msgspec.field(default_factory=dict)
    """By name, volumes that are kept for claims that are not bound."""
    tracked: frozenset[str] = frozenset()
    """CSI drivers that report how much room there is."""
    capacities: Mapping[str, tuple[Capacity, ...]] = msgspec.field(default_factory=dict)
    """By storage class."""
    limits: Mapping[str, Mapping[str, int]] = msgspec.field(default_factory=dict)
    """CSI driver → node name → how many volumes it attaches there."""
    claims: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Claims that are not bound, as namespace/name → UID."""


def read_claim(claim: PersistentVolumeClaim) -> Claim:
    meta, spec = claim.metadata, claim.spec
    owner = meta.controller
    return Claim(
        key=meta.key,
        uid=meta.uid,
        storage_class=claim.class_name,
        size=_bytes(spec.resources.requests, Rounding.UP),
        access_modes=tuple(sorted(spec.access_modes)),
        volume_mode=spec.volume_mode or "Filesystem",
        attributes_class=spec.volume_attributes_class_name,
        selector=spec.selector,
        volume=spec.volume_name,
        is_bound=claim.is_bound,
        is_lost=claim.status.phase == "Lost",
        is_deleting=meta.deletion_timestamp is not None,
        selected_node=meta.annotations.get(SELECTED_NODE, ""),
        owner=owner.uid if owner is not None else "",
    )


def read_volume(volume: PersistentVolume) -> Volume:
    meta, spec = volume.metadata, volume.spec
    claim = spec.claim_ref
    return Volume(
        name=meta.name,
        uid=meta.uid,
        storage_class=volume.class_name,
        size=_bytes(spec.capacity, Rounding.DOWN),
        access_modes=tuple(sorted(spec.access_modes)),
        volume_mode=spec.volume_mode or "Filesystem",
        attributes_class=spec.volume_attributes_class_name,
        labels=meta.labels,
        affinity=spec.node_affinity.required if spec.node_affinity is not None else None,
        zones=tuple((key, _zones(meta.labels[key])) for key in ZONE_LABELS if key in meta.labels),
        driver=spec.csi.driver if spec.csi is not None else "",
        claim=claim.key if claim is not None else "",
        claim_uid=claim.uid if claim is not None else "",
        is_available=volume.status.phase == "Available",
        is_deleting=meta.deletion_timestamp is not None,
    )


def read_capacity(capacity: CSIStorageCapacity) -> Capacity | None:
    """None when no node can use it, or when it does not say how much there is."""
    largest = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    if largest is None or capacity.node_topology is None:
        return None
    size = _bytes({"storage": largest}, Rounding.DOWN)
    return Capacity(capacity.storage_class_name, size, capacity.node_topology)


def read_limits(node: CSINode) -> Mapping[str, int]:
    """CSI driver → how many volumes it attaches to the node, for those that know a limit."""
    return {
        driver.name: driver.allocatable.count
        for driver in node.spec.drivers or ()
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


def _bytes(amounts: ResourceList, rounding: Rounding) -> int:
    """Storage asked for or offered; what cannot be read (the API server refuses it) counts as nothing."""
    try:
        size = to_units(parse_quantity(amounts.get("storage", 0)), rounding=rounding)
    except QuantityError:
        return 0
    return max(0, min(size, _LARGEST))


def _zones(value: str) -> tuple[str, ...]:
    return tuple(sorted(value.split(_SEVERAL_ZONES)))
