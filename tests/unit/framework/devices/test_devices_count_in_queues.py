"""How many devices of which class pods count for in their queues."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.placement.devices import (
    allocated,
    device_claim,
    device_class,
    first_available,
    request,
    resource_slice,
    way,
    with_claims,
)
from tests.support.queues.queue_trees import queue
from tests.support.sessions import Objects, Opened, node, open_session, pod, pod_group
from volcano_py.api.devices.claims import ALL_DEVICES, DeviceRequest, ResourceClaim
from volcano_py.api.effects import QueueAllocated
from volcano_py.api.objects import ApiObject
from volcano_py.framework.devices.requests import DeviceRequests
from volcano_py.framework.status.closing import Closing
from volcano_py.framework.status.queue_reports import queue_reports
from volcano_py.plugins.predicates import Predicates

LIMITED = {"deviceclass/gpu": "8", "deviceclass/small": "8"}


def opened(*objects: Objects) -> Opened:
    """Queue `a` has `a1` and `a2` below it; node n1 has three devices of the class gpu, n2 has two, n3 is gone."""
    slices = [
        resource_slice("s1", "d0", "d1", "d2", on="n1"),
        resource_slice("s2", "d0", "d1", on="n2"),
        resource_slice("s3", "d0", "d1", "d2", "d3", on="n3"),
    ]
    queues = [queue("root"), queue("a", capability=LIMITED), queue("a1", "a"), queue("a2", "a"), queue("free")]
    nodes = [node("n1"), node("n2")]
    classes = [device_class(), device_class("small", "false")]
    return open_session(queues, nodes, slices, classes, *objects, tiers=[[Predicates]])


def using(claim: ResourceClaim, *, queue: str = "a1", pods: int = 1, on: Sequence[str] = ()) -> list[ApiObject]:
    """A job of that many pods that all use the claim, and have these nodes."""
    name = f"{claim.metadata.name}-{queue}"
    places = [*on, *[""] * (pods - len(on))]
    made = [
        with_claims(pod(f"{name}-{at}", group=name, on=place), claim.metadata.name) for at, place in enumerate(places)
    ]
    return [pod_group(name, queue=queue), *made]


def counted(*requests: DeviceRequest) -> dict[str, int]:
    """What one pod with a claim for these requests counts for."""
    claim = device_claim("c", *requests)
    session = opened(claim, using(claim))
    found = session.ssn.shared(DeviceRequests)[session.task("c-a1-0").task_class]
    assert not found.shared
    return {session.ssn.axis.names[dim].removeprefix("deviceclass/"): units for dim, units in found.own}


def held(session: Opened) -> dict[str, str]:
    """Queue → devices in the status that is written."""
    effects = [each for each in Closing(session.ssn, "1").effects() if isinstance(each, QueueAllocated)]
    found = {each.queue: each.allocated.get("deviceclass/gpu") for each in effects}
    return {name: number for name, number in found.items() if number is not None}


def test_requests_count_by_their_class() -> None:
    assert counted(request(count=2), request("other", of="small"), request("more")) == {"gpu": 3, "small": 1}


def test_a_class_that_no_queue_limits_does_not_count() -> None:
    claim = device_claim("c", request(of="free"))
    session = opened(device_class("free"), claim, using(claim))
    assert session.ssn.shared(DeviceRequests)[session.task("c-a1-0").task_class].own == ()


def test_of_alternatives_each_counts_until_one_is_chosen() -> None:
    ways = (way("big", count=2), way("two", of="small", count=3), way("one"))
    assert counted(first_available("card", *ways)) == {"gpu": 2, "small": 3}


def test_access_as_administrator_counts_for_nothing() -> None:
    assert counted(request("watch", admin_access=True, mode=ALL_DEVICES), request()) == {"gpu": 1}


def test_a_request_for_all_devices_counts_for_the_most_that_a_node_has() -> None:
    """Devices of nodes that do not exist are no use."""
    assert counted(request(mode=ALL_DEVICES)) == {"gpu": 3}
    assert counted(request(mode=ALL_DEVICES, of="small")) == {}


def test_without_a_plugin_that_chooses_a_request_for_all_counts_for_as_many_as_a_claim_can_have() -> None:
    claim = device_claim("c", request(mode=ALL_DEVICES))
    session = open_session(queue("q", capability=LIMITED), device_class(), claim, using(claim, queue="q"))
    ((_, units),) = session.ssn.shared(DeviceRequests)[session.task("c-q-0").task_class].own
    assert units == 32


@pytest.mark.parametrize("pods", [1, 3])
def test_the_status_of_a_queue_counts_a_claim_once_however_many_pods_use_it(pods: int) -> None:
    claim = device_claim("c", allocation=allocated(("n1", "d0"), ("n1", "d1"), node="n1"))
    assert held(opened(claim, using(claim, pods=pods, on=["n1"] * pods))) == {"a1": "2", "a": "2", "root": "2"}


def test_queues_whose_pods_share_a_claim_count_it_both_and_the_queue_above_once() -> None:
    claim = device_claim("c", allocation=allocated(("n1", "d0"), node="n1"))
    other = device_claim("o", allocation=allocated(("n1", "d1"), ("n1", "d2"), node="n1"))
    session = opened(
        [claim, other],
        using(claim, on=["n1"]),
        using(claim, queue="a2", on=["n1"]),
        using(other, queue="free", on=["n1"]),
    )
    assert held(session) == {"a1": "1", "a2": "1", "a": "1", "free": "2", "root": "3"}
    reports = session.ssn.shared(queue_reports)
    assert reports["a1"].allocated["deviceclass/gpu"] == 1


def test_pods_that_wait_hold_nothing() -> None:
    claim = device_claim("c", allocation=allocated(("n1", "d0"), node="n1"), users=["x"])
    assert held(opened(claim, using(claim, pods=2))) == {}
