"""Claims, volumes and storage classes, as far as placing a pod depends on them."""

from __future__ import annotations

import msgspec

from volcano_py.api.objects import (
    ApiObject,
    NodeSelector,
    ObjectMeta,
    ResourceList,
    ResourceRequirements,
    SelectorRequirement,
)


class PersistentVolumeClaimSpec(ApiObject, frozen=True):
    """`storage_class_name` None means the default class, "" none at all."""

    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: list[str] = []
    volume_mode: str = "Filesystem"
    resources: ResourceRequirements = ResourceRequirements()


class PersistentVolumeClaimStatus(ApiObject, frozen=True):
    """`phase` is Pending, Bound or Lost."""

    phase: str = "Pending"


class PersistentVolumeClaim(ApiObject, frozen=True):
    """What a pod asks storage with."""

    metadata: ObjectMeta
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class ClaimReference(ApiObject, frozen=True):
    """The claim a volume belongs to."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeNodeAffinity(ApiObject, frozen=True):
    """From which nodes a volume can be used."""

    required: NodeSelector | None = None


class CsiVolumeSource(ApiObject, frozen=True):
    """The driver whose attach limits count the volume."""

    driver: str = ""
    volume_handle: str = ""


class PersistentVolumeSpec(ApiObject, frozen=True):
    capacity: ResourceList = {}
    access_modes: list[str] = []
    claim_ref: ClaimReference | None = None
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    node_affinity: VolumeNodeAffinity | None = None
    csi: CsiVolumeSource | None = None


class PersistentVolumeStatus(ApiObject, frozen=True):
    """`phase` is Pending, Available, Bound, Released or Failed."""

    phase: str = "Pending"


class PersistentVolume(ApiObject, frozen=True):
    """A piece of storage, which may be tied to some nodes."""

    metadata: ObjectMeta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class TopologySelectorTerm(ApiObject, frozen=True):
    """Where volumes of a class can be made."""

    match_label_expressions: list[SelectorRequirement] = msgspec.field(default=[])


class StorageClass(ApiObject, frozen=True):
    """`volume_binding_mode` is Immediate or WaitForFirstConsumer."""

    metadata: ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: list[TopologySelectorTerm] = []
