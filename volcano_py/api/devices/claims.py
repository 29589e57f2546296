"""Claims to devices, and classes of devices (`resource.k8s.io/v1`, dynamic resource allocation).

Field names follow the API, as in `objects.py`; fields that are not used are left out while decoding. What is passed on
as it is, such as parameters for drivers, stays JSON. Source: KEP 4381 (structured parameters).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import msgspec

from volcano_py.api.objects import ApiObject, Integer, NodeSelector, ObjectMeta

DEVICE_API: Final = "resource.k8s.io/v1"
DELETE_PROTECTION: Final = "resource.kubernetes.io/delete-protection"
"""Finalizer of a claim that has devices."""
POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a generated claim: which claim of its pod it is."""
EXTENDED_CLAIM: Final = "resource.kubernetes.io/extended-resource-claim"
"""Annotation ("true") of a claim that a scheduler has created for extended resources of the pod that owns it."""
CLASS_AS_RESOURCE: Final = "deviceclass.resource.kubernetes.io/"
"""With the name of a DeviceClass: the extended resource that every class offers."""
EXACT_COUNT: Final = "ExactCount"
ALL_DEVICES: Final = "All"
MOST_DEVICES: Final = 32
"""Devices that a claim can get."""
MOST_RESERVATIONS: Final = 256
"""Pods that can use a claim."""


class CelSelector(ApiObject, frozen=True):
    expression: str = ""


class DeviceSelector(ApiObject, frozen=True):
    cel: CelSelector | None = None


class DeviceToleration(ApiObject, frozen=True):
    """`operator` is Exists or Equal; an empty key or effect stands for all."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: Integer | None = None


class DeviceClassSpec(ApiObject, frozen=True):
    """`config` is for drivers, and copied into allocations. Where nodes do not have the extended resource
    `extended_resource_name`, devices of the class stand in for it (KEP 5004)."""

    selectors: list[DeviceSelector] = []
    config: list[dict[str, Any]] = []
    extended_resource_name: str = ""


class DeviceClass(ApiObject, frozen=True):
    metadata: ObjectMeta
    spec: DeviceClassSpec = DeviceClassSpec()


class CapacityRequests(ApiObject, frozen=True):
    requests: dict[str, str | int | float] = {}


class DeviceSubRequest(ApiObject, frozen=True):
    """One alternative of a request."""

    name: str = ""
    device_class_name: str = ""
    selectors: list[DeviceSelector] = []
    allocation_mode: str = EXACT_COUNT
    count: Integer = 1
    tolerations: list[DeviceToleration] = []
    capacity: CapacityRequests | None = None


class ExactDeviceRequest(DeviceSubRequest, frozen=True):
    """`admin_access`: to devices that others use, too."""

    admin_access: bool = False


class DeviceRequest(ApiObject, frozen=True):
    """Either `exactly`, or the first possible of `first_available`."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: list[DeviceSubRequest] = []


class DeviceConstraint(ApiObject, frozen=True):
    """The devices of these requests (none named: of all) have one value of an attribute, or different ones."""

    requests: list[str] = []
    match_attribute: str = ""
    distinct_attribute: str = ""


class OpaqueConfig(ApiObject, frozen=True):
    """Parameters for the driver of that name."""

    driver: str = ""
    parameters: dict[str, Any] | None = None


class ClaimConfig(ApiObject, frozen=True):
    requests: list[str] = []
    opaque: OpaqueConfig | None = None


class DeviceClaim(ApiObject, frozen=True):
    requests: list[DeviceRequest] = []
    constraints: list[DeviceConstraint] = []
    config: list[ClaimConfig] = []


class ResourceClaimSpec(ApiObject, frozen=True):
    devices: DeviceClaim = DeviceClaim()


class DeviceResult(ApiObject, frozen=True):
    """A device that a request got."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: list[DeviceToleration] = []
    share_id: str | None = msgspec.field(default=None, name="shareID")
    """Set where the device is shared: which of the shares this is."""
    consumed_capacity: dict[str, str | int | float] = {}


class AllocatedConfig(ApiObject, frozen=True):
    """`source` is FromClass or FromClaim."""

    source: str = ""
    requests: list[str] = []
    opaque: dict[str, Any] | None = None


class AllocatedDevices(ApiObject, frozen=True):
    results: list[DeviceResult] = []
    config: list[AllocatedConfig] = []


class Allocation(ApiObject, frozen=True):
    """`node_selector` says from which nodes the devices can be used; None: from all."""

    devices: AllocatedDevices = AllocatedDevices()
    node_selector: NodeSelector | None = None
    allocation_timestamp: datetime | None = None


class Consumer(ApiObject, frozen=True):
    """Who uses a claim; for pods, `resource` is `pods` and `api_group` "" (left out)."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class ResourceClaimStatus(ApiObject, frozen=True):
    allocation: Allocation | None = None
    reserved_for: list[Consumer] = []


class ClaimMeta(ObjectMeta, frozen=True):
    finalizers: list[str] = []


class ResourceClaim(ApiObject, frozen=True):
    metadata: ClaimMeta
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class TemplateSpec(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(ApiObject, frozen=True):
    """What a controller of Kubernetes generates claims of pods from; schedulers read the claims only."""

    metadata: ObjectMeta
    spec: TemplateSpec = TemplateSpec()
