"""Claims that are created for extended resources: from the decision until the API server shows them, and after that."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.placement.devices import (
    DRIVER,
    GPU,
    allocated,
    cel,
    device_class,
    extended_claim,
    on_node,
    request,
    resource_slice,
)
from tests.support.sessions import NAMESPACE, node, pod, pod_group
from tests.unit.state.watched import Watched, as_status, on
from volcano_py.api.devices.claims import DeviceClass, DeviceSelector
from volcano_py.api.effects import DeviceBinding, ExtendedClaim, ObjectRef
from volcano_py.api.objects import ApiObject, ContainerRequest, ExtendedClaimStatus, Pod
from volcano_py.state.devices.devices import NOWHERE
from volcano_py.state.devices.entries import extended_key
from volcano_py.state.devices.needs import Ask, DeviceNeed, ExtendedDevices, GivenDevices, Request
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.change import Change

RESOURCE = "example.com/gpu"
OF_DRIVER = f'device.driver == "{DRIVER}"'
FIRST = allocated(("n1", "d0"), node="n1", name="container-0-request-1")
SECOND = allocated(("n1", "d1"), node="n1", name="container-0-request-1")
MAPPING = ContainerRequest(container_name="main", resource_name=RESOURCE, request_name="container-0-request-1")


def mine(name: str = "p", **more: Any) -> Pod:
    return pod(name, group="g", cpu="1", devices={RESOURCE: "1"}, **more)


def key(name: str = "p") -> str:
    return extended_key(NAMESPACE, mine(name).metadata.uid)


def watching(*objects: Any) -> Watched:
    """Two nodes, of which the first has two devices, and the pods p and q."""
    slices = resource_slice("s", "d0", "d1", on="n1")
    pods: list[ApiObject] = [mine("p"), mine("q")]
    return Watched(node("n1"), node("n2"), pod_group("g"), device_class(extended=RESOURCE), slices, pods, *objects)


def needs(watched: Watched, name: str = "p") -> tuple[DeviceNeed, ...]:
    return watched.class_of(name).devices


def is_open(watched: Watched, name: str = "p") -> bool:
    return any(isinstance(need, ExtendedDevices) for need in needs(watched, name))


def held(watched: Watched) -> list[int]:
    """How many claims have each device."""
    counts: list[int] = watched.snapshot().devices.held.tolist()
    return counts


def binding(name: str, allocation: Any) -> DeviceBinding:
    asked = ("container-0-request-1", GPU, 1)
    reference = ObjectRef("ResourceClaim", NAMESPACE, key(name).partition("/")[2], "")
    return DeviceBinding(reference, allocation, ExtendedClaim((asked,), (MAPPING,)))


def assume(watched: Watched, name: str, allocation: Any) -> bool:
    return watched.state.assume_bound(mine(name).metadata.uid, "n1", (), [binding(name, allocation)])


# -- what pods require ---------------------------------------------------------------------------------------------


def test_a_resource_that_a_class_offers_is_amount_or_devices() -> None:
    watched = watching()
    ask = Ask("container-0-request-1", GPU, (OF_DRIVER,))
    (need,) = needs(watched)
    assert isinstance(need, ExtendedDevices)
    assert (need.resource, need.requests) == (RESOURCE, (Request(ask.name, (ask,)),))
    assert [(each.container_name, each.request_name) for each in need.mappings] == [("main", "container-0-request-1")]
    assert watched.class_of("p") is watched.class_of("q")
    assert watched.class_of("p").problem is None


@pytest.mark.parametrize(
    "other",
    [device_class(extended="example.com/tpu"), device_class(extended=RESOURCE, name="new")],
    ids=["another resource", "another class"],
)
def test_pods_follow_what_classes_offer(other: DeviceClass) -> None:
    watched = Watched(node("n1"), pod_group("g"), mine())
    assert needs(watched) == ()
    watched.put(device_class(extended=RESOURCE))
    assert is_open(watched)
    assert watched.reported() == [Change.DECISION]
    watched.put(device_class("other"))
    assert watched.reported() == [], "that concerns no pod"
    watched.put(other)
    watched.delete(device_class())
    watched.delete(other)
    assert needs(watched) == ()
    assert Change.DECISION in watched.reported()


def test_a_class_with_selectors_that_are_not_understood_offers_nothing() -> None:
    unknown = device_class(extended=RESOURCE)
    unknown.spec.selectors.append(DeviceSelector())
    assert unknown.spec.selectors[0] == cel(OF_DRIVER)[0]
    watched = Watched(node("n1"), pod_group("g"), mine(), unknown)
    assert needs(watched) == ()
    assert RESOURCE not in watched.snapshot().devices.offered


def test_a_pod_on_a_node_needs_nothing_more() -> None:
    watched = watching(on(mine("r"), "n2"))
    assert needs(watched, "r") == ()


# -- from decision to watch ----------------------------------------------------------------------------------------


def test_what_is_decided_counts_until_the_watch_shows_it_and_then_it_counts_once() -> None:
    watched = watching()
    assert assume(watched, "p", FIRST)
    assert (held(watched), watched.status("p")) == ([1, 0], TaskStatus.BINDING)
    claim = extended_claim("p-made", mine())
    watched.put(claim)
    assert held(watched) == [1, 0], "created, and without devices so far"
    watched.put(extended_claim("p-made", mine(), allocation=FIRST))
    assert held(watched) == [1, 0]
    named = ExtendedClaimStatus(request_mappings=[MAPPING], resource_claim_name="p-made")
    watched.put(as_status(mine(on="n1"), "Running", extended_resource_claim_status=named))
    assert held(watched) == [1, 0]
    info = watched.snapshot().devices.claims[key()]
    assert (info.name, info.uid, [*info.users]) == ("p-made", "claim-p-made", [mine().metadata.uid])
    assert needs(watched) == (GivenDevices(devices=((GPU, 1),)),)
    watched.delete(extended_claim("p-made", mine()))
    assert held(watched) == [0, 0]


def test_a_device_is_not_given_twice() -> None:
    watched = watching()
    assert assume(watched, "p", FIRST)
    assert not assume(watched, "q", FIRST)
    assert assume(watched, "q", SECOND)
    assert held(watched) == [1, 1]


def test_a_node_needs_no_amount_of_what_devices_stand_in_for() -> None:
    """Of what it has itself it needs enough."""
    watched = watching(node("n3", devices={RESOURCE: "1"}), on(mine("r"), "n3"))
    assert assume(watched, "p", FIRST)
    assert not watched.state.assume_bound(mine("q").metadata.uid, "n3")
    watched.delete(device_class())
    assert not watched.state.assume_bound(mine("q").metadata.uid, "n2")


def test_after_a_failure_the_devices_are_free() -> None:
    watched = watching()
    assert assume(watched, "p", FIRST)
    watched.quiet()
    watched.state.bind_failed(mine().metadata.uid, retry_at=0.0)
    assert (held(watched), is_open(watched)) == ([0, 0], True)
    assert Change.DECISION in watched.reported()


def test_a_pod_that_is_gone_takes_its_decision_along() -> None:
    watched = watching()
    assert assume(watched, "p", FIRST)
    watched.delete(mine())
    assert held(watched) == [0, 0]


def test_a_confirmed_binding_is_no_reason_to_decide_again() -> None:
    """With a device or without: what stands for the pod's extended resources while it waits is over then."""
    watched = watching(node("n3", devices={RESOURCE: "1"}))
    assert watched.state.assume_bound(mine().metadata.uid, "n3")
    watched.quiet()
    watched.put(mine(on="n3"))
    assert Change.DECISION not in watched.reported()
    assert assume(watched, "q", FIRST)
    watched.put(extended_claim("q-made", mine("q"), allocation=FIRST))
    named = ExtendedClaimStatus(request_mappings=[MAPPING], resource_claim_name="q-made")
    watched.put(as_status(mine("q", on="n1"), "Running", extended_resource_claim_status=named))
    assert Change.DECISION not in watched.reported()


# -- what is left of an earlier attempt ----------------------------------------------------------------------------


def test_a_claim_with_devices_is_used_again() -> None:
    """The scheduler was stopped before it bound the pod; the pod's status says nothing yet."""
    watched = watching(extended_claim("p-left", mine(), allocation=FIRST))
    (need,) = needs(watched)
    assert isinstance(need, GivenDevices)
    assert (need.nodes, need.devices) == (on_node("n1"), ((GPU, 1),))
    assert [each.request_name for each in need.mappings] == ["container-0-request-1"]
    assert (held(watched), is_open(watched, "q")) == ([1, 0], True)


def test_a_claim_with_other_requests_than_the_pod_has_suits_no_node() -> None:
    """So it is released, and the pod gets another one."""
    other = allocated(("n1", "d0"), node="n1")
    watched = watching(extended_claim("p-left", mine(), request("gpu"), allocation=other))
    (need,) = needs(watched)
    assert isinstance(need, GivenDevices)
    assert (need.nodes, need.mappings) == (NOWHERE, ())


def test_claims_without_devices_or_that_are_deleted_are_of_no_use() -> None:
    left = [
        extended_claim("p-left", mine()),
        extended_claim("p-older", mine(), allocation=FIRST, deleting=True),
    ]
    watched = watching(left)
    assert is_open(watched)
    assert held(watched) == [1, 0], "the one that is being deleted has its device until it is gone"
    names = {each.name for each in watched.state.extended_claims(NAMESPACE, mine().metadata.uid)}
    assert names == {"p-left", "p-older"}
    assert watched.state.extended_claims(NAMESPACE, mine("q").metadata.uid) == []


def test_of_two_claims_with_devices_one_is_used_and_both_count() -> None:
    first, second = (extended_claim(name, mine(), allocation=each) for name, each in (("p-a", FIRST), ("p-b", SECOND)))
    watched = watching(second, first)
    assert held(watched) == [1, 1]
    assert watched.snapshot().devices.claims[key()].name == "p-a"
    watched.delete(first)
    assert (held(watched), watched.snapshot().devices.claims[key()].name) == ([0, 1], "p-b")


def test_a_claim_of_a_pod_of_that_name_from_before_is_none_of_its() -> None:
    watched = watching(extended_claim("p-old", mine("gone"), allocation=FIRST))
    assert (is_open(watched), held(watched)) == (True, [1, 0])


def test_devices_are_free_when_a_claim_is_deleted() -> None:
    claim = extended_claim("p-left", mine(), allocation=FIRST)
    watched = watching(claim)
    watched.quiet()
    watched.delete(claim)
    assert (is_open(watched), held(watched)) == (True, [0, 0])
    assert watched.reported() == [Change.DECISION]
