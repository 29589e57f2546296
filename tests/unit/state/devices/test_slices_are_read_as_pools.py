"""ResourceSlices as they come: which devices there are, in which order, and which pools give nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tests.support.placement.devices import (
    DRIVER,
    consumes,
    counter_set,
    device,
    device_claim,
    in_zone,
    resource_slice,
    with_claims,
)
from tests.support.sessions import pod, pod_group
from tests.unit.state.watched import Watched
from volcano_py.api.devices.slices import (
    DeviceAttribute,
    DeviceCapacity,
    DeviceTaint,
    RequestPolicy,
    ResourceSlice,
    SliceDevice,
    ValidRange,
)
from volcano_py.state.devices.device import Device, Policy, Version
from volcano_py.state.devices.picture import DevicePicture, PoolFault
from volcano_py.state.table.change import Change


def watching(*objects: Any) -> Watched:
    """With a pod that uses a claim: else nothing of this matters."""
    return Watched(pod_group("g"), device_claim("c"), with_claims(pod("p", group="g", cpu="1"), "c"), *objects)


def picture(*objects: Any) -> DevicePicture:
    return watching(*objects).snapshot().devices


def names(picture: DevicePicture) -> list[str]:
    return [f"{each.pool}/{each.name}" for each in picture.devices]


def only(*slices: ResourceSlice) -> Device:
    (found,) = picture(*slices).devices
    return found


# -- devices -----------------------------------------------------------------------------------------------------------


def test_what_a_device_is_like_is_read_by_qualified_names() -> None:
    attributes = {
        "model": DeviceAttribute(string="A100"),
        "shared.example.org/slots": DeviceAttribute(int_=7),
        "ecc": DeviceAttribute(bool_=False),
        "driver": DeviceAttribute(version="1.2.3"),
        "of a later type": DeviceAttribute(),
    }
    taint = DeviceTaint(key="broken", effect="NoSchedule")
    found = only(
        resource_slice("s", SliceDevice(name="gpu-0", attributes=attributes, taints=[taint]), on="n1"),
    )
    assert found.key == (DRIVER, "n1", "gpu-0")
    assert found.attributes == {
        f"{DRIVER}/model": "A100",
        "shared.example.org/slots": 7,
        f"{DRIVER}/ecc": False,
        f"{DRIVER}/driver": Version("1.2.3"),
    }
    assert (found.taints, found.node, found.nodes, found.unusable) == ((taint,), "n1", None, "")


def test_of_two_spellings_of_one_name_the_qualified_one_holds() -> None:
    found = only(resource_slice("s", device("d", {f"{DRIVER}/model": "full", "model": "short"})))
    assert found.attributes == {f"{DRIVER}/model": "full"}


def test_capacity_is_kept_as_written() -> None:
    found = only(resource_slice("s", device("d", capacity={"memory": "40Gi", "x.org/lanes": "16"})))
    assert found.capacity == {f"{DRIVER}/memory": "40Gi", "x.org/lanes": "16"}


def test_devices_of_the_network_say_from_where_they_can_be_used() -> None:
    everywhere, zone = picture(
        resource_slice("a", "d"), resource_slice("b", device("d", binds_to_node=True), nodes=in_zone("x"))
    ).devices
    assert (everywhere.node, everywhere.nodes, everywhere.binds_to_node) == ("", None, False)
    assert (zone.node, zone.nodes, zone.binds_to_node) == ("", in_zone("x"), True)


def test_a_device_that_several_claims_can_have_says_which_amounts_they_can_take() -> None:
    bounds = ValidRange(min="1Gi", max="8Gi", step="2Gi")
    capacity = {
        "memory": DeviceCapacity(value="40Gi", request_policy=RequestPolicy(default="1Gi", valid_range=bounds)),
        f"{DRIVER}/lanes": DeviceCapacity(value="4", request_policy=RequestPolicy(valid_values=["2", "500m"])),
        "x.org/slots": DeviceCapacity(value=2),
    }
    found = only(resource_slice("s", SliceDevice(name="d", capacity=capacity, allow_multiple_allocations=True)))
    gi = Fraction(2**30)
    assert (found.is_shared, found.unusable) == (True, "")
    assert found.policies == {
        f"{DRIVER}/memory": Policy(default=gi, least=gi, most=8 * gi, step=2 * gi),
        f"{DRIVER}/lanes": Policy(values=(Fraction(2), Fraction(1, 2))),
    }
    assert found.published == {
        f"{DRIVER}/memory": "memory",
        f"{DRIVER}/lanes": f"{DRIVER}/lanes",
        "x.org/slots": "x.org/slots",
    }


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        pytest.param("binding_conditions", ["ready"], "has conditions for its binding", id="conditions"),
    ],
)
def test_a_device_with_a_feature_that_is_not_evaluated_is_not_usable(field: str, value: Any, why: str) -> None:
    plain, special = picture(resource_slice("s", "plain", device("special", **{field: value}))).devices
    assert (plain.unusable, special.unusable) == ("", why)


def test_devices_that_select_their_nodes_each_are_not_usable() -> None:
    found = only(resource_slice("s", device("d", node_name="n1"), per_device_node_selection=True))
    assert found.unusable == "is in a slice with perDeviceNodeSelection"


# -- order -------------------------------------------------------------------------------------------------------------


def test_devices_come_by_pool_then_slice_then_as_published() -> None:
    slices = [
        resource_slice("s2", "c", "a", on="n2"),
        resource_slice("s1", "z", pool="n1", count=2, on="n1"),
        resource_slice("s0", "y", "x", pool="n1", count=2, on="n1"),
        resource_slice("s3", "d", driver="a.example.com", pool="z"),
    ]
    expected = ["z/d", "n1/y", "n1/x", "n1/z", "n2/c", "n2/a"]
    assert names(picture(slices)) == names(picture(slices[::-1])) == expected


def test_pools_with_conditions_for_binding_come_last() -> None:
    found = picture(resource_slice("a", device("d", binding_conditions=["ready"])), resource_slice("b", "d"))
    assert names(found) == ["b/d", "a/d"]


# -- pools that give nothing -------------------------------------------------------------------------------------------


def test_only_the_highest_generation_counts() -> None:
    found = picture(
        resource_slice("old", "a", "b", pool="p", generation=1), resource_slice("new", "c", pool="p", generation=2)
    )
    assert names(found) == ["p/c"]
    assert found.faults == ()


def test_a_pool_gives_nothing_before_all_of_its_slices_are_there() -> None:
    watched = watching(resource_slice("s0", "a", on="n1", count=2), resource_slice("other", "b", on="n2"))
    found = watched.snapshot().devices
    why = "1 of its 2 ResourceSlices are published"
    assert names(found) == ["n2/b"]
    assert found.faults == (PoolFault(DRIVER, "n1", is_incomplete=True, why=why, nodes=frozenset({"n1"})),)
    watched.put(resource_slice("s1", "c", on="n1", count=2))
    assert watched.reported() == [Change.DECISION]
    assert names(watched.snapshot().devices) == ["n1/a", "n1/c", "n2/b"]
    assert watched.snapshot().devices.faults == ()


def test_slices_of_an_older_generation_do_not_complete_a_pool() -> None:
    found = picture(
        resource_slice("s0", "a", pool="p", generation=2, count=2), resource_slice("s1", "b", pool="p", count=2)
    )
    assert names(found) == []
    assert [each.is_incomplete for each in found.faults] == [True]


@pytest.mark.parametrize(
    ("slices", "why"),
    [
        pytest.param(
            [resource_slice("s0", "a", pool="p", count=2), resource_slice("s1", "a", pool="p", count=2)],
            "it has several devices with the name a",
            id="a device twice",
        ),
        pytest.param(
            [resource_slice("s", pool="p", shared_counters=[counter_set("set"), counter_set("set")])],
            "it has several counter sets with the name set",
            id="a counter set twice",
        ),
        pytest.param(
            [resource_slice("s", device("a", consumes_counters=[consumes("set")]), pool="p")],
            "its device a consumes counters that it does not have: set",
            id="no such counter set",
        ),
        pytest.param(
            [
                resource_slice("s0", pool="p", count=2, shared_counters=[counter_set("set", x=1)]),
                resource_slice("s1", device("a", consumes_counters=[consumes("set", x=1, y=1)]), pool="p", count=2),
            ],
            "its device a consumes counters that it does not have: set/y",
            id="no such counter",
        ),
        pytest.param(
            [
                resource_slice("s0", pool="p", count=2, shared_counters=[counter_set("set", x="much")]),
                resource_slice("s1", device("a", consumes_counters=[consumes("set", x=1)]), pool="p", count=2),
            ],
            "of its counters or capacities, a value is not usable: 'much' is not a quantity (examples: 2, 500m, 1.5Gi, "
            "1e3)",
            id="a value that is no quantity",
        ),
        pytest.param(
            [resource_slice("s", device("a", capacity={"memory": "much"}), pool="p")],
            "of its counters or capacities, a value is not usable: 'much' is not a quantity (examples: 2, 500m, 1.5Gi, "
            "1e3)",
            id="a capacity that is no quantity",
        ),
        pytest.param(
            [
                resource_slice(
                    "s",
                    SliceDevice(
                        name="a",
                        capacity={
                            "memory": DeviceCapacity(
                                value=2, request_policy=RequestPolicy(valid_range=ValidRange(min=0, step=0))
                            )
                        },
                    ),
                    pool="p",
                )
            ],
            "of its counters or capacities, a value is not usable: 0 is not a step: it has to be above 0",
            id="no step",
        ),
    ],
)
def test_a_pool_that_contradicts_itself_gives_nothing(slices: list[ResourceSlice], why: str) -> None:
    found = picture(slices, resource_slice("other", "b"))
    assert names(found) == ["other/b"]
    assert found.faults == (PoolFault(DRIVER, "p", is_incomplete=False, why=why),)


def test_a_slice_of_counters_completes_its_pool() -> None:
    counters = resource_slice("s0", pool="p", count=2, shared_counters=[counter_set("card", memory="40Gi")])
    parts = resource_slice("s1", device("a", consumes_counters=[consumes("card", memory="20Gi")]), pool="p", count=2)
    assert [each.is_incomplete for each in picture(parts).faults] == [True]
    assert names(picture(parts, counters)) == ["p/a"]


def test_counters_come_with_the_position_of_their_pools_first_device() -> None:
    counters = resource_slice("s0", pool="p", count=2, shared_counters=[counter_set("card", memory="40Gi")])
    halves = [device(name, consumes_counters=[consumes("card", memory="20Gi")]) for name in ("a", "b")]
    found = picture(resource_slice("plain", "x", "y"), counters, resource_slice("s1", *halves, pool="p", count=2))
    ((first, pool),) = found.counters
    assert (pool.value.tolist(), pool.amount.tolist()) == ([2], [1, 1])
    assert first == names(found).index("p/a")


# -- versions ----------------------------------------------------------------------------------------------------------


def test_devices_that_are_the_same_keep_their_version() -> None:
    watched = watching(resource_slice("s", device("a", {"x": 1}), on="n1"))
    first = watched.snapshot().devices
    assert first.version > 0
    watched.put(resource_slice("s", device("a", {"x": 1}), on="n1", generation=2))
    second = watched.snapshot().devices
    assert (second.version, second.devices) == (first.version, first.devices)
    watched.put(resource_slice("s", device("a", {"x": True}), on="n1", generation=2))
    third = watched.snapshot().devices
    assert third.version != first.version
    assert third.devices[0].attributes == {f"{DRIVER}/x": True}
    watched.delete(resource_slice("s"))
    assert watched.snapshot().devices.devices == ()
    assert watched.snapshot().devices.version not in (first.version, third.version)


def test_only_pools_whose_slices_have_changed_are_read_again() -> None:
    watched = watching(resource_slice("a", "d", on="n1"), resource_slice("b", "d", on="n2"))
    before = watched.snapshot().devices
    watched.put(resource_slice("b", "d", "e", on="n2"))
    after = watched.snapshot().devices
    assert after.devices[0] is before.devices[0]
    assert names(after) == ["n1/d", "n2/d", "n2/e"]
