"""How many pods empty nodes take, for queues: with devices, as many as these do for, whoever uses them now."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.placement.devices import (
    allocated,
    device_claim,
    device_class,
    request,
    resource_slice,
    with_claims,
)
from tests.support.placement.node_answers import class_of
from tests.support.sessions import Objects, Opened, node, open_session, pod, pod_group
from volcano_py.api.devices.claims import DeviceConstraint
from volcano_py.plugins.predicates import Predicates
from volcano_py.plugins.queues.empty_nodes import EmptyNodes

CORES = 8
"""Of each of the two nodes; a pod asks for one."""


def opened(*objects: Objects, **arguments: Any) -> Opened:
    slices = [resource_slice("s1", "d0", "d1", "d2", on="n1"), resource_slice("s2", "d0", on="n2")]
    offer = device_class(extended="example.com/gpu")
    nodes = [node("n1", cpu=str(CORES)), node("n2", cpu=str(CORES))]
    return open_session(offer, slices, nodes, pod_group("g"), *objects, tiers=[[(Predicates, arguments)]])


def room(session: Opened, name: str = "p") -> int:
    return session.ssn.shared(EmptyNodes).room(class_of(session, name).row)


def waiting(name: str, *claims: str, **devices: str) -> Any:
    return with_claims(pod(name, group="g", cpu="1", devices=devices), *claims)


@pytest.mark.parametrize(("count", "pods"), [(1, 4), (2, 1), (3, 1), (4, 0)])
def test_nodes_take_as_many_pods_as_their_devices_do_for(count: int, pods: int) -> None:
    held = device_claim("held", allocation=allocated(("n1", "d0"), node="n1"), users=["somebody"])
    assert room(opened(held, device_claim("c", request(count=count)), waiting("p", "c"))) == pods


def test_the_answer_follows_devices_from_cycle_to_cycle() -> None:
    claim, asking = device_claim("c", request(count=4)), waiting("p", "c")
    assert room(opened(claim, asking)) == 0
    assert room(opened(claim, asking, resource_slice("more", *"abcd", on="n2", driver="nic.example.com"))) == 0
    assert room(opened(claim, asking, resource_slice("more", *"abcd", on="n2", pool="more"))) == 1


@pytest.mark.parametrize(
    "claim",
    [
        device_claim("c", allocation=allocated(("n1", "d0"), node="n1")),
        device_claim("c", request(count=4), constraints=[DeviceConstraint(match_attribute="example.com/a")]),
    ],
    ids=["devices are there", "a search would tell"],
)
def test_what_cannot_be_counted_limits_nothing(claim: Any) -> None:
    assert room(opened(claim, waiting("p", "c"))) == 2 * CORES


def test_a_claim_that_pods_share_limits_nothing() -> None:
    session = opened(device_claim("c", request(count=4)), waiting("p", "c"), waiting("q", "c"))
    assert room(session) == 2 * CORES


def test_devices_that_stand_in_for_a_resource_count_like_amounts() -> None:
    assert room(opened(waiting("p", **{"example.com/gpu": "2"}))) == 1
