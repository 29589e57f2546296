"""Extended resources that a device class offers: amounts on nodes that have them, devices on the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.placement.devices import (
    DRIVER,
    allocated,
    consumes,
    counter_set,
    device,
    device_claim,
    device_class,
    extended_claim,
    in_zone,
    request,
    resource_slice,
    with_claims,
)
from tests.support.placement.node_answers import answers, class_of, node_rows, willing
from tests.support.sessions import Objects, Opened, node, open_session, pod, pod_group
from volcano_py.api.devices.slices import DeviceCapacity, RequestPolicy, SliceDevice
from volcano_py.api.effects import Bind, DeviceBinding
from volcano_py.api.objects import Pod
from volcano_py.framework.plugin import Reach
from volcano_py.framework.views import NodeView
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.predicates import Predicates
from volcano_py.plugins.predicates.devices.advice import (
    NONE_FOR_BOTH,
    NONE_FOR_EXTENDED,
    NOT_THERE,
    USED_FOR_BOTH,
    USED_FOR_EXTENDED,
)

RESOURCE = "example.com/gpu"
TPU = "example.com/tpu"
ZONE = "topology.kubernetes.io/zone"


def session(*objects: Objects, tiers: Any = ((Gang, Predicates),), **options: Any) -> Opened:
    """Node n1 has two of the resource itself; n2 and n3 have what slices say."""
    nodes = [
        node("n1", devices={RESOURCE: "2"}, labels={ZONE: "a"}),
        node("n2", labels={ZONE: "b"}),
        node("n3", labels={ZONE: "b"}),
    ]
    offer = device_class(extended=RESOURCE)
    return open_session(offer, nodes, pod_group("g"), *objects, tiers=[list(tier) for tier in tiers], **options)


def asking(name: str, count: int = 1, *, tpus: int = 0) -> Pod:
    more = {TPU: str(tpus)} if tpus else {}
    return pod(name, group="g", devices={RESOURCE: str(count), **more})


def allocatable(opened: Opened, resource: str = RESOURCE) -> dict[str, int]:
    dim = opened.ssn.axis.names.index(resource)
    return {name: int(opened.ssn.ledger.nodes.allocatable[row, dim]) for name, row in opened.ssn.nodes.rows.items()}


def total(opened: Opened, resource: str = RESOURCE) -> int:
    return int(opened.ssn.total[opened.ssn.axis.names.index(resource)])


def rooms(opened: Opened, name: str) -> list[int] | None:
    found = opened.plugin(Predicates).predicate_room(
        class_of(opened, name), NodeView(opened.ssn.ledger.nodes, node_rows(opened))
    )
    return None if found is None else np.minimum(found, 99).tolist()


def written(opened: Opened, name: str) -> tuple[DeviceBinding, ...]:
    (bind,) = [effect for effect in opened.effects if isinstance(effect, Bind) and effect.pod.name == name]
    return bind.devices


# -- amounts -------------------------------------------------------------------------------------------------------


def test_a_node_has_as_much_of_the_resource_as_it_has_devices_of_the_class() -> None:
    """Unless it has some itself: the devices of n1 are not for this resource."""
    slices = [resource_slice("s1", "d0", "d1", "d2", on="n1"), resource_slice("s2", "d0", "d1", on="n2")]
    opened = session(slices, resource_slice("other", "d0", on="n3", driver="nic.example.com"), asking("p"))
    assert allocatable(opened) == {"n1": 2, "n2": 2, "n3": 0}
    assert total(opened) == 4
    assert not opened.ssn.snapshot.ledger.nodes.allocatable[:, opened.ssn.axis.names.index(RESOURCE)][1:].any()


def test_devices_of_several_nodes_are_counted_once_in_the_total() -> None:
    opened = session(resource_slice("fabric", "d0", "d1", nodes=in_zone("b")), asking("p"))
    assert total(opened) == 4
    assert willing(opened, Predicates, "p") == ["n1", "n2", "n3"], "n1 has the resource itself"
    assert opened.plugin(Predicates).predicate_reach(class_of(opened, "p")) is Reach.DOMAIN


def test_parts_of_a_card_count_as_far_as_they_can_be_used_at_once() -> None:
    parts = [device(f"d{at}", consumes_counters=[consumes("card", memory=20)]) for at in range(4)]
    counters = resource_slice("c", on="n2", count=2, shared_counters=[counter_set("card", memory=40)])
    opened = session(counters, resource_slice("s", *parts, on="n2", count=2), asking("p"))
    assert allocatable(opened)["n2"] == 2


def test_a_device_that_is_shared_counts_as_often_as_it_can_be_given() -> None:
    slots = DeviceCapacity(value="4", request_policy=RequestPolicy(default="2"))
    shared = SliceDevice(name="d0", allow_multiple_allocations=True, capacity={"slots": slots})
    opened = session(resource_slice("s", shared, on="n2"), asking("p"))
    assert (allocatable(opened)["n2"], rooms(opened, "p")) == (2, [99, 2, 99])


@pytest.mark.parametrize("tiers", [((Gang,),)], ids=["without predicates"])
def test_where_no_plugin_chooses_devices_the_resource_is_an_amount_and_nothing_else(tiers: Any) -> None:
    opened = session(resource_slice("s2", "d0", on="n2"), asking("p"), tiers=tiers)
    assert allocatable(opened) == {"n1": 2, "n2": 0, "n3": 0}
    assert class_of(opened, "p").problem is None


# -- what nodes say ------------------------------------------------------------------------------------------------


def test_devices_are_needed_only_where_the_node_has_none_of_the_resource() -> None:
    slices = [resource_slice("s2", "d0", "d1", on="n2"), resource_slice("s3", "d0", on="n3")]
    held = device_claim("held", allocation=allocated(("n3", "d0"), node="n3"), users=["somebody"])
    opened = session(slices, held, asking("p"), asking("q"))
    assert answers(opened, Predicates, "p") == {"n1": "", "n2": "", "n3": USED_FOR_EXTENDED}
    assert rooms(opened, "p") == [99, 2, 0]
    assert opened.plugin(Predicates).predicate_reach(class_of(opened, "p")) is Reach.ROW


def test_a_cluster_without_devices_has_nothing_to_ask_after_a_placement() -> None:
    opened = session(asking("p"))
    assert opened.plugin(Predicates).predicate_reach(class_of(opened, "p")) is Reach.STATIC


def test_two_resources_can_be_of_either_kind_on_each_node() -> None:
    tpus = device_class("tpu", 'device.driver == "tpu.example.com"', extended=TPU)
    slices = [
        resource_slice("s1", "t0", on="n1", driver="tpu.example.com"),
        resource_slice("s2", "d0", on="n2"),
        resource_slice("t2", "t0", on="n2", driver="tpu.example.com", pool="t2"),
        resource_slice("s3", "d0", on="n3"),
    ]
    opened = session(tpus, slices, asking("p", tpus=1), asking("q", tpus=1))
    assert (allocatable(opened), allocatable(opened, TPU)) == (
        {"n1": 2, "n2": 1, "n3": 1},
        {"n1": 1, "n2": 1, "n3": 0},
    )
    assert rooms(opened, "p") == [1, 1, 1], "of n3, the placer knows that it has no TPU"
    statement = opened.place("g", {"p": "n1", "q": "n2"})
    statement.commit()
    (first,), (second,) = written(opened, "p"), written(opened, "q")
    assert [[request[1] for request in each.extended.requests] for each in (first, second) if each.extended] == [
        ["tpu"],
        ["gpu", "tpu"],
    ]


def test_a_pod_with_a_claim_of_its_own_gets_different_devices_for_both() -> None:
    both = with_claims(asking("p"), "own")
    one = resource_slice("s2", "d0", on="n2")
    opened = session(one, device_claim("own"), both)
    assert answers(opened, Predicates, "p") == {"n1": NOT_THERE, "n2": NONE_FOR_BOTH, "n3": NOT_THERE}
    opened = session(resource_slice("s2", "d0", "d1", on="n2"), device_claim("own"), both)
    opened.place("g", {"p": "n2"}).commit()
    own, extended = written(opened, "p")
    assert own.allocation is not None
    assert extended.allocation is not None
    devices = [each.allocation.devices.results[0].device for each in (own, extended) if each.allocation]
    assert (devices, own.creates, extended.creates) == (["d0", "d1"], False, True)


def test_a_node_whose_devices_are_in_use_says_for_what_the_pod_needs_them() -> None:
    held = device_claim("held", allocation=allocated(("n2", "d0"), node="n2"), users=["somebody"])
    slices = [resource_slice("s2", "d0", "d1", on="n2"), resource_slice("s1", "d0", on="n1")]
    opened = session(slices, held, device_claim("own"), with_claims(asking("p"), "own"))
    assert answers(opened, Predicates, "p") == {"n1": "", "n2": USED_FOR_BOTH, "n3": NOT_THERE}
    message = opened.ssn.placer.misfit(class_of(opened, "p")).refusal.message
    assert "Request container-0-request-0 asks for 1 device of DeviceClass gpu" in message


# -- what is written -----------------------------------------------------------------------------------------------


def test_the_claim_is_created_with_the_binding_where_devices_stand_in_and_not_elsewhere() -> None:
    opened = session(resource_slice("s2", "d0", "d1", on="n2"), asking("p", 2), asking("q"))
    opened.place("g", {"p": "n2", "q": "n1"}).commit()
    (binding,) = written(opened, "p")
    assert written(opened, "q") == ()
    assert binding.creates
    assert binding.extended is not None
    assert binding.extended.requests == (("container-0-request-0", "gpu", 2),)
    assert [each.resource_name for each in binding.extended.mappings] == [RESOURCE]
    assert binding.allocation is not None
    results = binding.allocation.devices.results
    assert [(each.request, each.driver, each.device) for each in results] == [
        ("container-0-request-0", DRIVER, "d0"),
        ("container-0-request-0", DRIVER, "d1"),
    ]


def test_devices_of_a_placement_that_is_undone_are_free_again() -> None:
    opened = session(resource_slice("s2", "d0", on="n2"), asking("p"), asking("q"), asking("r"))
    statement = opened.place("g", {"p": "n2"})
    assert answers(opened, Predicates, "q")["n2"] == USED_FOR_EXTENDED
    statement.discard()
    opened.place("g", {"r": "n2"}).commit()
    assert [effect.pod.name for effect in opened.effects if isinstance(effect, Bind)] == ["r"]


def test_a_claim_that_is_there_already_leads_to_its_node() -> None:
    left = extended_claim(
        "p-left",
        asking("p"),
        request("container-0-request-0"),
        allocation=allocated(("n2", "d1"), node="n2", name="container-0-request-0"),
    )
    opened = session(resource_slice("s2", "d0", "d1", on="n2"), left, asking("p"))
    assert willing(opened, Predicates, "p") == ["n2"]
    opened.place("g", {"p": "n2"}).commit()
    (binding,) = written(opened, "p")
    assert (binding.claim.name, binding.allocation, binding.creates) == ("p-left", None, False)
    assert binding.extended is not None


# -- why not -------------------------------------------------------------------------------------------------------


def test_the_message_counts_nodes_of_both_kinds() -> None:
    held = device_claim("held", allocation=allocated(("n2", "d0"), node="n2"), users=["somebody"])
    opened = session(resource_slice("s2", "d0", "d1", on="n2"), held, asking("p", 2), asking("big", 3))
    message = opened.ssn.placer.misfit(class_of(opened, "big")).refusal.message
    assert "2 Insufficient example.com/gpu" in message
    assert f"1 {NONE_FOR_EXTENDED}" in message
    assert "the most that a node has is 2, on node n2" in message
    opened.place("g", {"p": "n1"}).commit()
    message = opened.ssn.placer.misfit(class_of(opened, "p")).refusal.message
    assert f"1 {USED_FOR_EXTENDED}" in message
    asks = "Request container-0-request-0 asks for 2 devices of DeviceClass gpu"
    assert f"{asks}; the most that is free on such a node is 1, on node n2" in message


def test_no_node_says_that_it_has_too_few_devices_that_has_none() -> None:
    """Of devices that are there, three cannot be used at once."""
    opened = session(resource_slice("s2", "d0", "d1", on="n2"), asking("p", 3))
    assert answers(opened, Predicates, "p") == {"n1": "", "n2": NONE_FOR_EXTENDED, "n3": ""}


def test_more_devices_than_a_claim_can_have_are_the_reason() -> None:
    opened = session(resource_slice("s2", *(f"d{at}" for at in range(40)), on="n2"), asking("p", 33), asking("q", 32))
    message = opened.ssn.placer.misfit(class_of(opened, "p")).refusal.message
    assert "needs 33 devices in one ResourceClaim on such a node, and 32 are the most that a claim can have" in message
    assert willing(opened, Predicates, "q") == ["n1", "n2", "n3"], "the others lack the amount"
