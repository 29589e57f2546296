"""What is written on a claim that gets devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, Final
from uuid import NAMESPACE_OID, uuid5

import msgspec

from volcano_py.api.devices.claims import AllocatedConfig, AllocatedDevices, Allocation, DeviceResult, OpaqueConfig
from volcano_py.api.objects import NodeSelector, NodeSelectorTerm, SelectorRequirement
from volcano_py.state.devices.device import Device
from volcano_py.state.devices.needs import Ask
from volcano_py.state.devices.picture import DevicePicture
from volcano_py.state.devices.shares import consumption, written

_FROM_CLASS: Final = "FromClass"
_FROM_CLAIM: Final = "FromClaim"


def allocation(picture: DevicePicture, claim: str, results: Sequence[tuple[Ask, int]], node: str) -> Allocation:
    """That of the claim (namespace/name) of a pod that goes to `node`. `results`: the devices, as positions in
    `picture.devices`, and for which way to satisfy a request each was chosen."""
    known = picture.claims.get(claim)  # (None for one that is to be created)
    uid = claim if known is None else known.uid
    chosen = [(ask, picture.devices[position]) for ask, position in results]
    names = list(dict.fromkeys(ask.name for ask, _ in results))
    config = [*_of_classes(picture, results), *_of_claim(picture, claim, names)]
    return Allocation(
        devices=AllocatedDevices(results=[_result(uid, ask, device) for ask, device in chosen], config=config),
        node_selector=_usable_from([device for _, device in chosen], node),
    )


def _result(claim: str, ask: Ask, device: Device) -> DeviceResult:
    """`claim` is its UID. A share has a name of its own, by which the driver tells it from others of the device."""
    consumed: Mapping[str, Fraction] = {}
    share = None
    if device.is_shared:
        consumed = consumption(device, ask.capacity) or {}
        share = str(uuid5(NAMESPACE_OID, "/".join((claim, ask.name, *device.key))))
    return DeviceResult(
        request=ask.name,
        driver=device.driver,
        pool=device.pool,
        device=device.name,
        admin_access=True if ask.is_admin else None,
        tolerations=list(ask.tolerations),
        share_id=share,
        consumed_capacity={device.published[name]: written(amount) for name, amount in consumed.items()},
    )


def _of_classes(picture: DevicePicture, results: Sequence[tuple[Ask, int]]) -> Iterator[AllocatedConfig]:
    """What device classes add, each for all the requests for devices of it."""
    requests: dict[str, dict[str, None]] = {}
    for ask, _ in results:
        requests.setdefault(ask.device_class, {})[ask.name] = None
    for device_class, names in requests.items():
        for opaque in picture.class_configs.get(device_class, ()):
            yield AllocatedConfig(source=_FROM_CLASS, requests=list(names), opaque=opaque)


def _of_claim(picture: DevicePicture, claim: str, names: Sequence[str]) -> Iterator[AllocatedConfig]:
    """What the claim itself says, unless it is for alternatives that were not chosen. `names` are of results."""
    if claim not in picture.claims:
        return
    used = {*names, *(name.partition("/")[0] for name in names)}
    for config in picture.claims[claim].config:
        if config.opaque is not None and (not config.requests or used.intersection(config.requests)):
            yield AllocatedConfig(source=_FROM_CLAIM, requests=config.requests, opaque=_as_json(config.opaque))


def _as_json(opaque: OpaqueConfig) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(opaque)
    return found


def _usable_from(devices: Sequence[Device], node: str) -> NodeSelector | None:
    """From which nodes all these devices can be used; None: from all."""
    if any(device.node or device.binds_to_node for device in devices):
        name = SelectorRequirement(key="metadata.name", operator="In", values=[node])
        return NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[name])])
    selectors = [device.nodes for device in devices if device.nodes is not None]
    if not selectors:
        return None
    terms = [*chain.from_iterable(selector.node_selector_terms for selector in selectors)]  # each has one
    together = NodeSelectorTerm(
        match_expressions=_distinct(chain.from_iterable(term.match_expressions for term in terms)),
        match_fields=_distinct(chain.from_iterable(term.match_fields for term in terms)),
    )
    return NodeSelector(node_selector_terms=[together])


def _distinct(requirements: Iterator[SelectorRequirement]) -> list[SelectorRequirement]:
    """Each once, in their order."""
    found: list[SelectorRequirement] = []
    for each in requirements:
        if each not in found:
            found.append(each)
    return found
