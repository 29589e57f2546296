"""Claims to devices, device classes and ResourceSlices for tests, and pods that use them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from tests.support.sessions import NAMESPACE
from volcano_py.api.devices.claims import (
    EXACT_COUNT,
    EXTENDED_CLAIM,
    AllocatedDevices,
    Allocation,
    CelSelector,
    ClaimConfig,
    ClaimMeta,
    Consumer,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceRequest,
    DeviceResult,
    DeviceSelector,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from volcano_py.api.devices.slices import (
    Counter,
    CounterConsumption,
    CounterSet,
    DeviceAttribute,
    DeviceCapacity,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
    SliceDevice,
)
from volcano_py.api.effects import DeviceBinding, ObjectRef
from volcano_py.api.objects import (
    NodeSelector,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodClaimStatus,
    SelectorRequirement,
)

DRIVER = "gpu.example.com"
GPU = "gpu"
"""A device class: all devices of the driver."""


def cel(*expressions: str) -> list[DeviceSelector]:
    return [DeviceSelector(cel=CelSelector(expression=each)) for each in expressions]


def device_class(
    name: str = GPU, *expressions: str, config: Sequence[dict[str, Any]] = (), extended: str = ""
) -> DeviceClass:
    """A class of the driver's devices, unless other expressions say what is in it; `config` are opaque parameters. It
    offers the resource `extended`."""
    selectors = cel(*(expressions or (f'device.driver == "{DRIVER}"',)))
    opaque = [{"opaque": each} for each in config]
    spec = DeviceClassSpec(selectors=selectors, config=opaque, extended_resource_name=extended)
    return DeviceClass(metadata=ObjectMeta(name=name, uid=f"class-{name}"), spec=spec)


def device(
    name: str, attributes: Mapping[str, int | bool | str] | None = None, capacity: Mapping[str, str] = {}, **more: Any
) -> SliceDevice:
    return SliceDevice(
        name=name,
        attributes={key: _attribute(value) for key, value in (attributes or {}).items()},
        capacity={key: DeviceCapacity(value=value) for key, value in capacity.items()},
        **more,
    )


def counter_set(name: str, **counters: str | int) -> CounterSet:
    return CounterSet(name=name, counters=_counters(counters))


def consumes(name: str, **counters: str | int) -> CounterConsumption:
    """So much of the counter set of that name."""
    return CounterConsumption(counter_set=name, counters=_counters(counters))


def _counters(values: Mapping[str, str | int]) -> dict[str, Counter]:
    return {name: Counter(value=value) for name, value in values.items()}


def _attribute(value: int | bool | str) -> DeviceAttribute:
    if isinstance(value, bool):
        return DeviceAttribute(bool_=value)
    return DeviceAttribute(int_=value) if isinstance(value, int) else DeviceAttribute(string=value)


def resource_slice(
    name: str,
    *devices: SliceDevice | str,
    on: str = "",
    nodes: NodeSelector | None = None,
    pool: str = "",
    driver: str = DRIVER,
    generation: int = 1,
    count: int = 1,
    **more: Any,
) -> ResourceSlice:
    """A slice of devices of the node `on`, of `nodes`, or else of all; of the pool of its name or, if it has one, of
    its node's."""
    return ResourceSlice(
        metadata=ObjectMeta(name=name, uid=f"slice-{name}"),
        spec=ResourceSliceSpec(
            driver=driver,
            pool=ResourcePool(name=pool or on or name, generation=generation, resource_slice_count=count),
            node_name=on,
            node_selector=nodes,
            all_nodes=not on and nodes is None,
            devices=[device(each) if isinstance(each, str) else each for each in devices],
            **more,
        ),
    )


def in_zone(zone: str) -> NodeSelector:
    requirement = SelectorRequirement(key="topology.kubernetes.io/zone", operator="In", values=[zone])
    return NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=[requirement])])


def on_node(name: str) -> NodeSelector:
    """What an allocation of devices of a node says."""
    requirement = SelectorRequirement(key="metadata.name", operator="In", values=[name])
    return NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[requirement])])


def request(
    name: str = "gpu", *expressions: str, of: str = GPU, mode: str = EXACT_COUNT, count: int = 1, **more: Any
) -> DeviceRequest:
    exactly = ExactDeviceRequest(
        device_class_name=of, selectors=cel(*expressions), allocation_mode=mode, count=count, **more
    )
    return DeviceRequest(name=name, exactly=exactly)


def first_available(name: str, *ways: DeviceSubRequest) -> DeviceRequest:
    return DeviceRequest(name=name, first_available=list(ways))


def way(name: str, *expressions: str, of: str = GPU, **more: Any) -> DeviceSubRequest:
    return DeviceSubRequest(name=name, device_class_name=of, selectors=cel(*expressions), **more)


def allocated(*devices: tuple[str, str], node: str = "", admin: bool | None = None, name: str = "gpu") -> Allocation:
    """Of these devices (pool, name), which can be used from `node`, or from all."""
    results = [
        DeviceResult(request=name, driver=DRIVER, pool=pool, device=device, admin_access=admin)
        for pool, device in devices
    ]
    selector = on_node(node) if node else None
    return Allocation(devices=AllocatedDevices(results=results), node_selector=selector)


def device_claim(
    name: str,
    *requests: DeviceRequest,
    allocation: Allocation | None = None,
    users: Iterable[str] = (),
    owner: str = "",
    uid: str = "",
    deleting: bool = False,
    constraints: Sequence[DeviceConstraint] = (),
    config: Sequence[ClaimConfig] = (),
) -> ResourceClaim:
    """A claim, to one device by default; `users` are UIDs of pods, `owner` is the UID of the one it is made for."""
    return ResourceClaim(
        metadata=ClaimMeta(
            namespace=NAMESPACE,
            name=name,
            uid=uid or f"claim-{name}",
            owner_references=[OwnerReference(kind="Pod", uid=owner, controller=True)] if owner else [],
            deletion_timestamp=datetime(2026, 11, 2, tzinfo=UTC) if deleting else None,
        ),
        spec=ResourceClaimSpec(
            devices=DeviceClaim(
                requests=list(requests or (request(),)), constraints=list(constraints), config=list(config)
            )
        ),
        status=ResourceClaimStatus(
            allocation=allocation, reserved_for=[Consumer(resource="pods", name=each, uid=each) for each in users]
        ),
    )


def extended_claim(
    name: str, pod: Pod, *requests: DeviceRequest, allocation: Allocation | None = None, **more: Any
) -> ResourceClaim:
    """A claim that a scheduler has created for extended resources of the pod; it is reserved for it if it has
    devices."""
    users = [pod.metadata.uid] if allocation is not None else []
    asked = requests or (request("container-0-request-1"),)
    found = device_claim(name, *asked, allocation=allocation, users=users, owner=pod.metadata.uid, **more)
    metadata = msgspec.structs.replace(found.metadata, annotations={EXTENDED_CLAIM: "true"})
    return msgspec.structs.replace(found, metadata=metadata)


def with_claims(pod: Pod, *claims: str, generated: Mapping[str, str | None] | None = None) -> Pod:
    """The pod with these claims by name, and with claims from the template `t`: entry → name of what was generated,
    "" for nothing yet, None for nothing needed."""
    made = generated or {}
    entries: list[dict[str, Any]] = [
        {"name": f"c{number}", "resourceClaimName": each} for number, each in enumerate(claims)
    ]
    entries += [{"name": entry, "resourceClaimTemplateName": "t"} for entry in made]
    statuses = [PodClaimStatus(name=entry, resource_claim_name=name) for entry, name in made.items() if name != ""]
    replace = msgspec.structs.replace
    return replace(
        pod,
        spec=replace(pod.spec, resource_claims=entries),
        status=replace(pod.status, resource_claim_statuses=statuses),
    )


def device_binding(claim: str, allocation: Allocation | None = None, *, uid: str = "") -> DeviceBinding:
    return DeviceBinding(ObjectRef("ResourceClaim", NAMESPACE, claim, uid or f"claim-{claim}"), allocation)
