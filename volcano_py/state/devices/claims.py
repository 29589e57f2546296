"""ResourceClaims and DeviceClasses: what is kept of them, and what a claim without devices asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from volcano_py.api.devices.claims import (
    ALL_DEVICES,
    EXACT_COUNT,
    EXTENDED_CLAIM,
    Allocation,
    ClaimConfig,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
)
from volcano_py.api.objects import ObjectMeta
from volcano_py.api.quantity import QuantityError, parse_quantity
from volcano_py.state.devices import wording
from volcano_py.state.devices.entries import extended_key
from volcano_py.state.devices.needs import ALL, Ask, Constraint, DeviceTrouble, OpenDevices, Request

DeviceKey = tuple[str, str, str]
"""Driver, pool and name."""


class Claim(msgspec.Struct, frozen=True):
    """A ResourceClaim. `owner` is the UID of its controlling owner, `users` are UIDs of those it is reserved for.
    `version` (resourceVersion) and `finalizers` are for those who write it. `extended`: of a claim to extended
    resources of its owner, the key by which that pod knows it."""

    key: str
    uid: str
    version: str
    finalizers: tuple[str, ...]
    owner: str
    is_deleting: bool
    asked: DeviceClaim
    allocation: Allocation | None
    users: frozenset[str]
    name: str
    extended: str = ""

    @property
    def config(self) -> tuple[ClaimConfig, ...]:
        """For the drivers of its devices."""
        return tuple(self.asked.config)

    @property
    def classes(self) -> frozenset[str]:
        """Names of the device classes that it asks for."""
        return frozenset(way.device_class_name for request in self.asked.requests for way in _ways(request))


class Class(msgspec.Struct, frozen=True):
    """A DeviceClass. An expression is None where its selector is of a kind that is not known. `created` is in seconds
    since the epoch."""

    expressions: tuple[str | None, ...]
    config: tuple[dict[str, Any], ...]
    extended_resource: str = ""
    created: float = 0.0


class _CannotAskError(Exception):
    """What a claim asks for cannot be looked for."""

    def __init__(self, message: str, *, is_unsupported: bool = True) -> None:
        super().__init__(message)
        self.trouble = DeviceTrouble(message, is_unsupported)


def read_claim(claim: ResourceClaim) -> Claim:
    meta, status = claim.metadata, claim.status
    owner = meta.controller
    return Claim(
        key=meta.key,
        uid=meta.uid,
        version=meta.resource_version,
        finalizers=tuple(meta.finalizers),
        owner=owner.uid if owner is not None else "",
        is_deleting=meta.deletion_timestamp is not None,
        asked=claim.spec.devices,
        allocation=status.allocation,
        users=frozenset(each.uid for each in status.reserved_for),
        name=meta.name,
        extended=_extended_key(meta),
    )


def _extended_key(meta: ObjectMeta) -> str:
    owner = meta.controller
    if owner is None or owner.kind != "Pod" or meta.annotations.get(EXTENDED_CLAIM) != "true":
        return ""
    return extended_key(meta.namespace, owner.uid)


def read_class(device_class: DeviceClass) -> Class:
    spec = device_class.spec
    given = (config.get("opaque") for config in spec.config)
    return Class(
        _expressions(spec.selectors),
        tuple(opaque for opaque in given if opaque is not None),
        spec.extended_resource_name,
        device_class.metadata.created,
    )


def devices_of(allocation: Allocation | None) -> tuple[DeviceKey, ...]:
    """The devices that the claim takes from others, or takes of: not those to which it has admin access."""
    if allocation is None:
        return ()
    results = allocation.devices.results
    return tuple((each.driver, each.pool, each.device) for each in results if not each.admin_access)


def devices_by_class(claim: Claim, allocation: Allocation) -> tuple[tuple[str, int], ...]:
    """How many of these devices were given for requests for each device class."""
    classes = {
        name: way.device_class_name
        for request in claim.asked.requests
        for name, way in zip(_names_of(request), _ways(request), strict=True)
    }
    taken = (each for each in allocation.devices.results if not each.admin_access)
    found = Counter(classes[each.request] for each in taken if each.request in classes)
    return tuple(sorted(found.items()))


def open_devices(claim: Claim, name: str, class_of: Callable[[str], Class | None]) -> OpenDevices | DeviceTrouble:
    """What the claim asks for, by its classes as they are; `name` is the need's `claim`."""
    try:
        requests = tuple(_request(claim.key, request, class_of) for request in claim.asked.requests)
        return OpenDevices(name, requests, tuple(_constraints(claim)))
    except _CannotAskError as error:
        return error.trouble


def ask_of_class(request: str, count: int, name: str, device_class: Class) -> Ask | None:
    """So many devices of the class of that name; None if one of its selectors is of a kind that is not known."""
    known = tuple(each for each in device_class.expressions if each is not None)
    return Ask(request, name, known, count=count) if len(known) == len(device_class.expressions) else None


def _request(claim: str, request: DeviceRequest, class_of: Callable[[str], Class | None]) -> Request:
    ways = _ways(request)
    if not ways:
        raise _CannotAskError(wording.asks_for_nothing(claim, request.name))
    named = zip(_names_of(request), ways, strict=True)
    asks = (_ask(claim, name, way, class_of) for name, way in named)
    return Request(request.name, tuple(asks))


def _ways(request: DeviceRequest) -> list[DeviceSubRequest]:
    return request.first_available if request.exactly is None else [request.exactly]


def _names_of(request: DeviceRequest) -> list[str]:
    """What results call its ways, in their order."""
    if request.exactly is not None:
        return [request.name]
    return [f"{request.name}/{way.name}" for way in request.first_available]


def _ask(claim: str, name: str, way: DeviceSubRequest, class_of: Callable[[str], Class | None]) -> Ask:
    device_class = class_of(way.device_class_name)
    if device_class is None:
        text = wording.class_missing(claim, name, way.device_class_name)
        raise _CannotAskError(text, is_unsupported=False)
    if way.allocation_mode not in (EXACT_COUNT, ALL_DEVICES):
        raise _CannotAskError(wording.unknown_mode(claim, name, way.allocation_mode))
    expressions = (*device_class.expressions, *_expressions(way.selectors))
    known = tuple(each for each in expressions if each is not None)
    if len(known) < len(expressions):
        raise _CannotAskError(wording.selector_without_cel(claim, name))
    return Ask(
        name=name,
        device_class=way.device_class_name,
        expressions=known,
        tolerations=tuple(way.tolerations),
        count=ALL if way.allocation_mode == ALL_DEVICES else max(1, way.count),  # (the API server makes 1 of 0, too)
        is_admin=isinstance(way, ExactDeviceRequest) and way.admin_access,
        capacity=_capacity(claim, name, way),
    )


def _capacity(claim: str, request: str, way: DeviceSubRequest) -> tuple[tuple[str, str], ...]:
    """Sorted, so that requests that differ in the order only are one."""
    asked = {} if way.capacity is None else way.capacity.requests
    try:
        for amount in asked.values():
            parse_quantity(amount)
    except QuantityError as error:
        raise _CannotAskError(wording.capacity_unreadable(claim, request, error)) from error
    return tuple(sorted((name, str(amount)) for name, amount in asked.items()))


def _expressions(selectors: Iterable[DeviceSelector]) -> tuple[str | None, ...]:
    return tuple(each.cel.expression if each.cel is not None else None for each in selectors)


def _constraints(claim: Claim) -> Iterable[Constraint]:
    for each in claim.asked.constraints:
        attribute = each.match_attribute or each.distinct_attribute
        if not attribute:
            raise _CannotAskError(wording.unknown_constraint(claim.key))
        yield Constraint(tuple(each.requests), attribute, is_distinct=not each.match_attribute)
