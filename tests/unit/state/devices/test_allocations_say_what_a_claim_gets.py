"""What is written on a claim for the devices that were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from uuid import UUID

import msgspec
import pytest

from tests.support.placement.devices import DRIVER, GPU, in_zone, on_node
from volcano_py.api.devices.claims import (
    AllocatedConfig,
    Allocation,
    ClaimConfig,
    DeviceResult,
    DeviceToleration,
    OpaqueConfig,
)
from volcano_py.api.objects import NodeSelector, NodeSelectorTerm, SelectorRequirement
from volcano_py.state.devices.allocations import allocation
from volcano_py.state.devices.device import Device, Policy
from volcano_py.state.devices.needs import Ask
from volcano_py.state.devices.picture import ClaimInfo, DevicePicture

CLAIM = "team/c"
ASK = Ask("gpu", GPU)


def on(node: str = "n1", name: str = "d0") -> Device:
    return Device(DRIVER, node, name, node=node)


def network(nodes: NodeSelector | None = None, *, binds: bool = False) -> Device:
    return Device(DRIVER, "net", "x", nodes=nodes, binds_to_node=binds)


def opaque(value: str) -> dict[str, object]:
    return {"driver": DRIVER, "parameters": {"kind": value}}


def made(
    *results: tuple[Ask, Device],
    config: Sequence[ClaimConfig] = (),
    classes: dict[str, tuple[dict[str, object], ...]] | None = None,
) -> Allocation:
    picture = DevicePicture(
        devices=tuple(device for _, device in results),
        claims={CLAIM: ClaimInfo("u", config=tuple(config))},
        class_configs=classes or {},
    )
    return allocation(picture, CLAIM, [(ask, position) for position, (ask, _) in enumerate(results)], "n1")


def test_each_device_is_named_with_what_it_was_chosen_for() -> None:
    toleration = DeviceToleration(key="broken", operator="Exists")
    found = made(
        (ASK, on()),
        (Ask("any/small", GPU, tolerations=(toleration,)), on(name="d1")),
        (Ask("watch", GPU, is_admin=True), on(name="d2")),
    )
    assert found.devices.results == [
        DeviceResult(request="gpu", driver=DRIVER, pool="n1", device="d0"),
        DeviceResult(request="any/small", driver=DRIVER, pool="n1", device="d1", tolerations=[toleration]),
        DeviceResult(request="watch", driver=DRIVER, pool="n1", device="d2", admin_access=True),
    ]
    assert found.devices.config == []
    assert found.allocation_timestamp is None
    assert msgspec.to_builtins(found)["devices"]["results"][0] == {
        "request": "gpu",
        "driver": DRIVER,
        "pool": "n1",
        "device": "d0",
    }


def test_a_share_has_a_name_of_its_own_and_says_what_it_consumes() -> None:
    shared = Device(
        DRIVER,
        "n1",
        "d0",
        capacity={f"{DRIVER}/memory": "40Gi", "x.org/slots": "4"},
        node="n1",
        is_shared=True,
        policies={"x.org/slots": Policy(default=Fraction(1))},
        published={f"{DRIVER}/memory": "memory", "x.org/slots": "x.org/slots"},
    )
    first, second, again = made(
        *((Ask(name, GPU, capacity=(("memory", "4Gi"),)), shared) for name in ("a", "b", "a"))
    ).devices.results
    assert first.consumed_capacity == {"memory": "4Gi", "x.org/slots": "1"}
    assert (first.share_id, str(UUID(first.share_id))) == (again.share_id, first.share_id)
    assert first.share_id != second.share_id
    written = msgspec.to_builtins(first)
    assert (written["shareID"], written["consumedCapacity"]) == (first.share_id, first.consumed_capacity)


def test_parameters_of_classes_come_first_and_once_with_the_requests_they_are_for() -> None:
    config = [ClaimConfig(opaque=OpaqueConfig(driver=DRIVER, parameters={"kind": "claim"}))]
    found = made(
        (ASK, on()),
        (ASK, on(name="d1")),
        (Ask("net", "fabric"), on(name="d2")),
        (Ask("any/small", GPU), on(name="d3")),
        config=config,
        classes={"fabric": (opaque("fabric"),), GPU: (opaque("one"), opaque("two")), "other": (opaque("other"),)},
    )
    assert found.devices.config == [
        AllocatedConfig(source="FromClass", requests=["gpu", "any/small"], opaque=opaque("one")),
        AllocatedConfig(source="FromClass", requests=["gpu", "any/small"], opaque=opaque("two")),
        AllocatedConfig(source="FromClass", requests=["net"], opaque=opaque("fabric")),
        AllocatedConfig(source="FromClaim", opaque=opaque("claim")),
    ]


@pytest.mark.parametrize(
    ("requests", "is_used"),
    [
        pytest.param([], True, id="for all"),
        pytest.param(["gpu"], True, id="a request"),
        pytest.param(["any"], True, id="a request with alternatives"),
        pytest.param(["any/small"], True, id="the alternative that was chosen"),
        pytest.param(["any/large"], False, id="another alternative"),
        pytest.param(["any/large", "gpu"], True, id="one of them is used"),
    ],
)
def test_parameters_of_the_claim_are_kept_for_what_was_chosen(requests: list[str], is_used: bool) -> None:
    config = ClaimConfig(requests=requests, opaque=OpaqueConfig(driver=DRIVER, parameters={"kind": "x"}))
    found = made((ASK, on()), (Ask("any/small", GPU), on(name="d1")), config=[config])
    expected = [AllocatedConfig(source="FromClaim", requests=requests, opaque=opaque("x"))]
    assert found.devices.config == (expected if is_used else [])


def test_a_device_of_a_node_can_be_used_there_alone() -> None:
    assert made((ASK, network(in_zone("a"))), (ASK, on())).node_selector == on_node("n1")
    assert made((ASK, network(binds=True))).node_selector == on_node("n1")


def test_devices_of_the_network_can_be_used_where_each_of_them_can() -> None:
    assert made((ASK, network())).node_selector is None
    assert made((ASK, network(in_zone("a"))), (ASK, network())).node_selector == in_zone("a")
    rack = SelectorRequirement(key="rack", operator="Exists")
    name = SelectorRequirement(key="metadata.name", operator="NotIn", values=["n3"])
    both = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=[rack], match_fields=[name])])
    zone = in_zone("a").node_selector_terms[0].match_expressions
    assert made((ASK, network(in_zone("a"))), (ASK, network(both)), (ASK, network(in_zone("a")))).node_selector == (
        NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=[*zone, rack], match_fields=[name])])
    )
