"""Kubernetes' volume controllers over objects in memory: claims become bound, volumes are made, and all at once.

As the real ones: a claim gets the volume that is kept for it; one that waits for no pod gets the smallest volume that
suits it, or a new one; one that waits gets a new volume when the scheduler has chosen a node for it; one that is owned
by a pod goes with it. Every provisioner is taken to work. What becomes of the volume of a claim that is gone is left
open: it is Released, and no other claim gets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from volcano_py.api.effects import Bind
from volcano_py.api.objects import (
    ApiObject,
    Node,
    NodeSelector,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    Pod,
    SelectorRequirement,
)
from volcano_py.api.volumes import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    DEFAULT_CLASS,
    SELECTED_NODE,
    ClaimReference,
    CSINode,
    CsiVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    VolumeNodeAffinity,
)
from volcano_py.state.volumes.needs import OpenNeed
from volcano_py.state.volumes.storage import read_claim, read_volume

T = TypeVar("T", bound=ApiObject)
_CLAIM, _VOLUME = "PersistentVolumeClaim", "PersistentVolume"


class Store(Protocol):
    """Where the objects are."""

    def objects(self, kind: str, of: type[T]) -> list[T]: ...

    def get(self, kind: str, key: str, of: type[T]) -> T | None: ...

    def pods_with_own_claims(self) -> list[Pod]: ...

    def pods_with_claim_templates(self) -> list[Pod]: ...

    def put(self, kind: str, obj: ApiObject) -> None: ...

    def remove(self, kind: str, key: str) -> None: ...


def with_default_class(claim: PersistentVolumeClaim, classes: Sequence[StorageClass]) -> PersistentVolumeClaim:
    """The claim as the API server admits it: one that names no class gets the default one, the first by name."""
    defaults = sorted(each.metadata.name for each in classes if each.metadata.annotations.get(DEFAULT_CLASS) == "true")
    if claim.spec.storage_class_name is not None or claim.class_name or not defaults:
        return claim
    return msgspec.structs.replace(claim, spec=msgspec.structs.replace(claim.spec, storage_class_name=defaults[0]))


class MemoryVolumes:
    """Binds the claims of one cluster in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def decide(self, bind: Bind) -> None:
        """Write what the scheduler has chosen for the claims of a pod."""
        for binding in bind.claims:
            claim = self._store.get(_CLAIM, binding.claim.key, PersistentVolumeClaim)
            if claim is None or claim.metadata.uid != binding.claim.uid or claim.is_bound:
                continue
            if not binding.volume:
                self._annotate(claim, {SELECTED_NODE: bind.node})
                continue
            volume = self._store.get(_VOLUME, binding.volume, PersistentVolume)
            if volume is not None and volume.spec.claim_ref is None:
                meta = _annotated(volume.metadata, {BOUND_BY_CONTROLLER: "yes"})
                spec = msgspec.structs.replace(volume.spec, claim_ref=_reference(claim))
                self._store.put(_VOLUME, msgspec.structs.replace(volume, metadata=meta, spec=spec))

    def are_bound(self, bind: Bind) -> bool:
        """Whether all claims of the pod have their volumes."""
        claims = [self._store.get(_CLAIM, each.claim.key, PersistentVolumeClaim) for each in bind.claims]
        return all(claim is not None and claim.is_bound for claim in claims)

    def run(self) -> None:
        """Do all there is to do."""
        self._collect_claims()
        self._make_ephemeral_claims()
        self._settle_volumes()
        kept = {
            volume.spec.claim_ref.key: volume
            for volume in self._store.objects(_VOLUME, PersistentVolume)
            if volume.spec.claim_ref is not None
        }
        for claim in self._store.objects(_CLAIM, PersistentVolumeClaim):
            if claim.is_bound or claim.metadata.deletion_timestamp is not None:
                self._check(claim)
            elif (volume := self._volume_for(claim, kept.get(claim.metadata.key))) is not None:
                self._bind(claim, volume)

    def _settle_volumes(self) -> None:
        for volume in self._store.objects(_VOLUME, PersistentVolume):
            owner = volume.spec.claim_ref
            claim = None if owner is None else self._store.get(_CLAIM, owner.key, PersistentVolumeClaim)
            if owner is not None and owner.uid and (claim is None or claim.metadata.uid != owner.uid):
                phase = "Released"
            else:
                phase = "Bound" if claim is not None and claim.spec.volume_name == volume.metadata.name else "Available"
            self._store.put(_VOLUME, msgspec.structs.replace(volume, status=PersistentVolumeStatus(phase=phase)))

    def _check(self, claim: PersistentVolumeClaim) -> None:
        volume = self._store.get(_VOLUME, claim.spec.volume_name, PersistentVolume)
        if claim.is_bound:
            phase = "Bound" if volume is not None else "Lost"
            self._store.put(_CLAIM, msgspec.structs.replace(claim, status=PersistentVolumeClaimStatus(phase=phase)))

    def _volume_for(self, claim: PersistentVolumeClaim, kept: PersistentVolume | None) -> PersistentVolume | None:
        """The volume that the claim gets now; `kept` is the one that names it."""
        if claim.spec.volume_name:
            named = self._store.get(_VOLUME, claim.spec.volume_name, PersistentVolume)
            return named if named is not None and _may_have(claim, named) else None
        if kept is not None and _may_have(claim, kept):
            return kept
        storage_class = self._store.get("StorageClass", claim.class_name, StorageClass)
        node = claim.metadata.annotations.get(SELECTED_NODE, "")
        if storage_class is not None and storage_class.waits and not node:
            return None
        if not node:
            found = _smallest(claim, self._store.objects(_VOLUME, PersistentVolume))
            if found is not None:
                return found
        return self._make(claim, storage_class, node) if storage_class is not None else None

    def _make(self, claim: PersistentVolumeClaim, storage_class: StorageClass, node: str) -> PersistentVolume | None:
        """A new volume, which the nodes with the same labels of the class's topology can use."""
        if not storage_class.provisions:
            return None
        found = self._store.get("Node", node, Node)
        labels = found.metadata.labels if found is not None else {}
        keys = sorted({each.key for term in storage_class.allowed_topologies for each in term.match_label_expressions})
        expressions = [
            SelectorRequirement(key=key, operator="In", values=[labels[key]]) for key in keys if key in labels
        ]
        terms = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=expressions)])
        name = f"pvc-{claim.metadata.uid}"
        attached = any(
            driver.name == storage_class.provisioner
            for each in self._store.objects("CSINode", CSINode)
            for driver in each.spec.drivers or ()
        )
        spec = PersistentVolumeSpec(
            capacity={"storage": claim.spec.resources.requests.get("storage", 0)},
            access_modes=claim.spec.access_modes,
            storage_class_name=storage_class.metadata.name,
            volume_mode=claim.spec.volume_mode,
            volume_attributes_class_name=claim.spec.volume_attributes_class_name,
            node_affinity=VolumeNodeAffinity(required=terms) if expressions else None,
            csi=CsiVolumeSource(driver=storage_class.provisioner, volume_handle=name) if attached else None,
        )
        return PersistentVolume(metadata=ObjectMeta(name=name, uid=f"persistentvolume--{name}"), spec=spec)

    def _bind(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> None:
        spec = msgspec.structs.replace(volume.spec, claim_ref=_reference(claim))
        status = PersistentVolumeStatus(phase="Bound")
        self._store.put(_VOLUME, msgspec.structs.replace(volume, spec=spec, status=status))
        bound = msgspec.structs.replace(
            claim,
            spec=msgspec.structs.replace(claim.spec, volume_name=volume.metadata.name),
            status=PersistentVolumeClaimStatus(phase="Bound"),
        )
        self._annotate(bound, {BIND_COMPLETED: "yes"})

    def _annotate(self, claim: PersistentVolumeClaim, marks: dict[str, str]) -> None:
        self._store.put(_CLAIM, msgspec.structs.replace(claim, metadata=_annotated(claim.metadata, marks)))

    def _collect_claims(self) -> None:
        """As Kubernetes' garbage collector: what only pods own, and none of these is there any more, goes."""
        claims = self._store.objects(_CLAIM, PersistentVolumeClaim)
        if not claims:
            return
        pods = {pod.metadata.uid for pod in self._store.objects("Pod", Pod)}
        for claim in claims:
            owners = claim.metadata.owner_references
            if owners and all(owner.kind == "Pod" and owner.uid not in pods for owner in owners):
                self._store.remove(_CLAIM, claim.metadata.key)

    def _make_ephemeral_claims(self) -> None:
        for pod in self._store.pods_with_own_claims():
            for volume in pod.spec.volumes:
                key = f"{pod.metadata.namespace}/{pod.metadata.name}-{volume.name}"
                if volume.ephemeral is None or self._store.get(_CLAIM, key, PersistentVolumeClaim) is not None:
                    continue
                template: dict[str, Any] = volume.ephemeral.get("volumeClaimTemplate") or {}
                owner = OwnerReference(
                    api_version="v1", kind="Pod", name=pod.metadata.name, uid=pod.metadata.uid, controller=True
                )
                meta = ObjectMeta(
                    namespace=pod.metadata.namespace,
                    name=key.partition("/")[2],
                    # Not by its name: the volume of a pod's predecessor is not its own.
                    uid=f"persistentvolumeclaim-{pod.metadata.uid}-{volume.name}",
                    owner_references=[owner],
                )
                spec = msgspec.convert(template.get("spec") or {}, type=PersistentVolumeClaimSpec, strict=False)
                claim = PersistentVolumeClaim(metadata=meta, spec=spec)
                self._store.put(_CLAIM, with_default_class(claim, self._store.objects("StorageClass", StorageClass)))


def _may_have(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Whether the volume is kept for this claim, or for none."""
    owner = volume.spec.claim_ref
    return owner is None or (owner.key == claim.metadata.key and owner.uid in ("", claim.metadata.uid))


def _smallest(claim: PersistentVolumeClaim, volumes: Sequence[PersistentVolume]) -> PersistentVolume | None:
    asked = read_claim(claim)
    need = OpenNeed(
        storage_class=asked.storage_class,
        size=asked.size,
        access_modes=asked.access_modes,
        volume_mode=asked.volume_mode,
        attributes_class=asked.attributes_class,
        selector=asked.selector,
    )
    found = [(read_volume(each), each) for each in volumes]
    suiting = [
        (read.size, read.name, volume)
        for read, volume in found
        if read.is_free and read.storage_class == need.storage_class and read.is_for(need)
    ]
    return min(suiting, key=lambda each: each[:2])[2] if suiting else None


def _reference(claim: PersistentVolumeClaim) -> ClaimReference:
    meta = claim.metadata
    return ClaimReference(kind=_CLAIM, api_version="v1", namespace=meta.namespace, name=meta.name, uid=meta.uid)


def _annotated(meta: ObjectMeta, marks: dict[str, str]) -> ObjectMeta:
    return msgspec.structs.replace(meta, annotations={**meta.annotations, **marks})
