"""Pods that share a claim follow the first of them to its node, so that one asks for room for those that must start."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.placement.devices import device_claim, device_class, request, resource_slice, with_claims
from tests.support.placement.node_answers import answers, class_of, node_rows, refusing_for_good, willing
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.views import NodeView
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.predicates import Predicates
from volcano_py.plugins.predicates.devices.advice import ALONE


def session(
    sharing: int,
    *,
    others: int = 0,
    min_member: int,
    network: bool = False,
    first: str = "1",
    plugins: Sequence[type[Plugin]] = (Gang, Predicates),
) -> Opened:
    """Nodes of 2 and of 4 cores with a device each, or that share one; a gang whose pods ask for a core, the first of
    them for `first`, and of which so many share a claim."""
    slices = (
        [resource_slice("all", "gpu-0")]
        if network
        else [resource_slice(name, "gpu-0", on=name) for name in ("n2", "n4")]
    )
    pods = [pod(f"g-{at}", group="g", cpu="1" if at else first) for at in range(sharing + others)]
    return open_session(
        device_class(),
        [node("n2", cpu="2"), node("n4", cpu="4")],
        slices,
        device_claim("shared"),
        pod_group("g", min_member=min_member),
        [with_claims(each, "shared") for each in pods[:sharing]],
        pods[sharing:],
        tiers=[plugins],
    )


@pytest.mark.parametrize(
    ("sharing", "others", "min_member", "takes"),
    [
        (2, 0, 2, ["n2", "n4"]),
        (3, 0, 3, ["n4"]),
        (5, 0, 5, []),
        (5, 0, 1, ["n2", "n4"]),
        (5, 0, 3, ["n4"]),
        (3, 4, 4, ["n2", "n4"]),
        (3, 4, 7, ["n4"]),
        (3, 4, 6, ["n2", "n4"]),
    ],
)
def test_a_node_has_room_for_those_that_must_start(
    sharing: int, others: int, min_member: int, takes: list[str]
) -> None:
    opened = session(sharing, others=others, min_member=min_member)
    assert willing(opened, Predicates, "g-0") == takes
    refused = {name: ALONE for name in ("n2", "n4") if name not in takes}
    assert {name: text for name, text in answers(opened, Predicates, "g-0").items() if text} == refused


def test_pods_with_which_one_shares_devices_that_several_nodes_can_use_need_no_room_there() -> None:
    pods = [pod(f"g-{at}", group="g", cpu="1") for at in range(6)]
    opened = open_session(
        device_class(),
        device_class("net", "device.driver == 'net.example.com'"),
        [node("n2", cpu="2"), node("n4", cpu="4")],
        [resource_slice(name, "gpu-0", on=name) for name in ("n2", "n4")],
        resource_slice("all", "nic-0", driver="net.example.com"),
        device_claim("local"),
        device_claim("fabric", request("nic", of="net")),
        pod_group("g", min_member=6),
        with_claims(pods[0], "local", "fabric"),
        with_claims(pods[1], "local"),
        [with_claims(each, "fabric") for each in pods[2:]],
        tiers=[[Gang, Predicates]],
    )
    assert willing(opened, Predicates, "g-0") == willing(opened, Predicates, "g-1") == ["n2", "n4"]


def test_what_different_pods_ask_for_is_added_up() -> None:
    opened = session(2, min_member=2, first="2")
    assert willing(opened, Predicates, "g-0") == willing(opened, Predicates, "g-1") == ["n4"]


def test_of_an_elastic_gang_the_smallest_count() -> None:
    assert willing(session(3, min_member=2, first="3"), Predicates, "g-1") == ["n2", "n4"]


def test_devices_that_several_nodes_can_use_tie_nobody_to_one() -> None:
    assert willing(session(3, min_member=3, network=True), Predicates, "g-0") == ["n2", "n4"]


def test_once_one_of_them_has_a_place_the_others_need_only_their_own_room() -> None:
    opened = session(3, min_member=3)
    opened.place("g", {"g-0": "n4"})
    assert willing(opened, Predicates, "g-1") == ["n4"]
    opened.place("g", {"g-1": "n4"})
    assert willing(opened, Predicates, "g-2") == ["n4"]


def test_a_node_that_is_too_small_for_them_is_so_once_pods_have_left() -> None:
    opened = session(3, min_member=3)
    view = NodeView(opened.ssn.ledger.nodes, node_rows(opened, ["n2", "n4"]), released=True)
    codes = opened.plugin(Predicates).predicate(class_of(opened, "g-0"), view)
    assert [opened.ssn.refusal_of(code).message if code else "" for code in codes.tolist()] == [ALONE, ""]
    assert refusing_for_good(opened, Predicates, "g-0") == ["n2"]


def test_without_gangs_each_pod_starts_by_itself() -> None:
    assert willing(session(3, min_member=3, plugins=[Predicates]), Predicates, "g-0") == ["n2", "n4"]


def test_pods_that_share_no_claim_are_asked_nothing() -> None:
    assert willing(session(3, others=4, min_member=7), Predicates, "g-4") == ["n2", "n4"]
