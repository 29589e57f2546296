"""What the volumes of a pod require of its node: the part of a pod's class that its PersistentVolumeClaims make.

A claim that only one pod uses is described by what it requires (class, size, modes, where its volume can be used), not
by its name, so that the pods of a gang with a claim each are one class. A claim that several pods use has its name in
it: what is decided for one of them holds for the others.
"""

from __future__ import annotations

import msgspec

from volcano_py.api.objects import LabelSelector, NodeSelector, Pod

Zone = tuple[str, tuple[str, ...]]
"""A label of zones or regions, and the values with which a volume can be used."""


class Need(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """One claim of a pod."""


class Trouble(Need, frozen=True):
    """The claim keeps the pod from every node; `message` names it and says what to do."""

    message: str = ""


class Shareable(Need, frozen=True):
    """`claim` (namespace/name) is set when several pods use it, `exclusive` when only one of them may at a time."""

    claim: str = ""
    exclusive: bool = False


class BoundNeed(Shareable, frozen=True):
    """A claim with a volume: where that can be used, and the CSI driver that attaches it ("" for none)."""

    affinity: NodeSelector | None = None
    zones: tuple[Zone, ...] = ()
    driver: str = ""


class OpenNeed(Shareable, frozen=True):
    """A claim that gets its volume when the pod has a node. `size` is in bytes.

    `node` is the one for which a volume is being made already, `reserved` the volume that is kept for this claim.
    """

    storage_class: str = ""
    size: int = 0
    access_modes: tuple[str, ...] = ()
    volume_mode: str = ""
    attributes_class: str = ""
    selector: LabelSelector | None = None
    node: str = ""
    reserved: str = ""


def claims_of(pod: Pod) -> tuple[str, ...]:
    """The claims a pod uses, as namespace/name, each once, in the order of its volumes."""
    if not pod.spec.volumes:
        return ()
    namespace, found = pod.metadata.namespace, dict[str, None]()
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            found[f"{namespace}/{volume.persistent_volume_claim.claim_name}"] = None
        elif volume.ephemeral is not None:
            found[f"{namespace}/{pod.metadata.name}-{volume.name}"] = None
    return tuple(found)


def own_claims_of(pod: Pod) -> frozenset[str]:
    """Those among them that are made for this pod alone (generic ephemeral volumes)."""
    named = (volume.name for volume in pod.spec.volumes if volume.ephemeral is not None)
    return frozenset(f"{pod.metadata.namespace}/{pod.metadata.name}-{name}" for name in named)
