"""Claims, volumes and where volumes are available, as far as placing a pod depends on them.

Field names follow the API, as in `objects.py`; fields that are not used are left out while decoding.
"""

from __future__ import annotations

from typing import Final

import msgspec

from volcano_py.api.objects import (
    ApiObject,
    LabelSelector,
    NodeSelector,
    ObjectMeta,
    ResourceList,
    ResourceRequirements,
    SelectorRequirement,
)

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
"""Annotation of a claim: Kubernetes' volume binder is through with it."""
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
"""Annotation of a volume: its claim was chosen by a program, not by the author of the volume."""
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""Annotation of a claim: the node to create its volume for."""
DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"  # deprecated, but Kubernetes still reads it

WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
IMMEDIATE: Final = "Immediate"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"


class PersistentVolumeClaimSpec(ApiObject, frozen=True):
    """`storage_class_name` None means the default class, "" none at all."""

    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: list[str] = []
    volume_mode: str = "Filesystem"
    resources: ResourceRequirements = ResourceRequirements()
    selector: LabelSelector | None = None
    volume_attributes_class_name: str = ""


class PersistentVolumeClaimStatus(ApiObject, frozen=True):
    """`phase` is Pending, Bound or Lost."""

    phase: str = "Pending"


class PersistentVolumeClaim(ApiObject, frozen=True):
    """What a pod asks storage with."""

    metadata: ObjectMeta
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()

    @property
    def class_name(self) -> str:
        """The storage class it asks for, "" for none."""
        return self.metadata.annotations.get(_CLASS_ANNOTATION) or self.spec.storage_class_name or ""

    @property
    def is_bound(self) -> bool:
        """Whether it has its volume permanently."""
        return bool(self.spec.volume_name) and BIND_COMPLETED in self.metadata.annotations


class ClaimReference(ApiObject, frozen=True):
    """The claim a volume belongs to; without a UID it is one that need not exist yet."""

    kind: str = ""
    api_version: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""

    @property
    def key(self) -> str:
        """namespace/name of the claim."""
        return f"{self.namespace}/{self.name}"


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
    volume_attributes_class_name: str = ""


class PersistentVolumeStatus(ApiObject, frozen=True):
    """`phase` is Pending, Available, Bound, Released or Failed."""

    phase: str = "Pending"


class PersistentVolume(ApiObject, frozen=True):
    """A piece of storage, which may be tied to some nodes."""

    metadata: ObjectMeta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()

    @property
    def class_name(self) -> str:
        """Its storage class, "" for none."""
        return self.metadata.annotations.get(_CLASS_ANNOTATION) or self.spec.storage_class_name


class TopologySelectorTerm(ApiObject, frozen=True):
    """Where volumes of a class can be made."""

    match_label_expressions: list[SelectorRequirement] = msgspec.field(default=[])


class StorageClass(ApiObject, frozen=True):
    """`volume_binding_mode` is Immediate or WaitForFirstConsumer."""

    metadata: ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str = IMMEDIATE
    allowed_topologies: list[TopologySelectorTerm] = []

    @property
    def waits(self) -> bool:
        """Whether claims are bound only when a pod that uses them has a node."""
        return self.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER

    @property
    def provisions(self) -> bool:
        """Whether a provisioner creates volumes of this class on demand."""
        return self.provisioner not in ("", NO_PROVISIONER)


class CsiVolumeLimits(ApiObject, frozen=True):
    """`count` None: no limit is known."""

    count: int | None = None


class CsiNodeDriver(ApiObject, frozen=True):
    name: str = ""
    allocatable: CsiVolumeLimits | None = None


class CSINodeSpec(ApiObject, frozen=True):
    """The API server writes `drivers: null` for a node that has none."""

    drivers: list[CsiNodeDriver] | None = None


class CSINode(ApiObject, frozen=True):
    """The storage drivers of the node of the same name, and how many volumes each can attach there."""

    metadata: ObjectMeta
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(ApiObject, frozen=True):
    storage_capacity: bool = False


class CSIDriver(ApiObject, frozen=True):
    """A storage driver; with `storage_capacity` it reports how much room there is where (CSIStorageCapacity)."""

    metadata: ObjectMeta
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(ApiObject, frozen=True):
    """Room for volumes of a class, reachable from the nodes that `node_topology` selects (None: from none)."""

    metadata: ObjectMeta
    storage_class_name: str = ""
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None
    node_topology: LabelSelector | None = None
