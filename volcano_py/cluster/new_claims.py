"""ResourceClaims that are created for extended resources of pods."""

from __future__ import annotations

from volcano_py.api.devices.claims import (
    EXTENDED_CLAIM,
    ClaimMeta,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from volcano_py.api.effects import ExtendedClaim, ObjectRef
from volcano_py.api.objects import OwnerReference


def new_claim(pod: ObjectRef, extended: ExtendedClaim, name: str = "", uid: str = "") -> ResourceClaim:
    """The claim as it is created; the API server generates its name and its UID."""
    metadata = ClaimMeta(
        name=name,
        generate_name=f"{pod.name}-extended-resources-",
        namespace=pod.namespace,
        uid=uid,
        annotations={EXTENDED_CLAIM: "true"},
        owner_references=[OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True)],
    )
    requests = [
        DeviceRequest(name=request, exactly=ExactDeviceRequest(device_class_name=device_class, count=count))
        for request, device_class, count in extended.requests
    ]
    return ResourceClaim(metadata=metadata, spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests)))


def owner_of(claim: ResourceClaim) -> ObjectRef | None:
    """The pod for whose extended resources the claim was created; None for any other claim."""
    meta, owner = claim.metadata, claim.metadata.controller
    if owner is None or owner.kind != "Pod" or meta.annotations.get(EXTENDED_CLAIM) != "true":
        return None
    return ObjectRef("Pod", meta.namespace, owner.name, owner.uid)
