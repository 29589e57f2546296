"""Who has which devices: what the API server shows, and what is decided before it does."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.placement.devices import (
    DRIVER,
    allocated,
    consumes,
    counter_set,
    device,
    device_binding,
    device_claim,
    device_class,
    on_node,
    resource_slice,
    with_claims,
)
from tests.support.sessions import NAMESPACE, node, pod, pod_group
from tests.unit.state.watched import Watched, as_status, deleted, on
from volcano_py.api.devices.claims import (
    MOST_RESERVATIONS,
    AllocatedDevices,
    Allocation,
    ClaimConfig,
    ClaimMeta,
    DeviceResult,
)
from volcano_py.api.effects import Bind, ObjectRef
from volcano_py.api.objects import Pod
from volcano_py.state.devices.needs import DeviceNeed, GivenDevices, OpenDevices
from volcano_py.state.devices.picture import NO_DEVICES, ClaimInfo
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.change import Change

ONE = (("gpu", 1),)
FIRST = allocated(("n1", "d0"), node="n1")
SECOND = allocated(("n1", "d1"), node="n1")


def mine(name: str, *claims: str) -> Pod:
    return with_claims(pod(name, group="g", cpu="1"), *claims)


def uid(name: str) -> str:
    return pod(name).metadata.uid


def watching(*objects: Any) -> Watched:
    """Two nodes, of which the first has two devices, and pods p and q with a claim each."""
    claims = [device_claim("c"), mine("p", "c"), device_claim("e"), mine("q", "e")]
    slices = [resource_slice("s", "d0", "d1", on="n1"), device_class()]
    return Watched(node("n1"), node("n2"), pod_group("g"), slices, claims, *objects)


def assume(watched: Watched, name: str, claim: str, allocation: Allocation | None = None, **more: Any) -> bool:
    return watched.state.assume_bound(uid(name), "n1", (), [device_binding(claim, allocation, **more)])


def info(watched: Watched, claim: str) -> ClaimInfo:
    return watched.snapshot().devices.claims[f"{NAMESPACE}/{claim}"]


def needs(watched: Watched, name: str) -> tuple[DeviceNeed, ...]:
    return watched.class_of(name).devices


# -- the picture -------------------------------------------------------------------------------------------------------


def test_devices_matter_only_where_pods_have_claims() -> None:
    watched = Watched(node("n1"), pod_group("g"), pod("plain", group="g", cpu="1"))
    watched.put(device_class(), device_claim("c", allocation=FIRST), resource_slice("s", "d0", on="n1"))
    watched.put(device_claim("c"))
    assert watched.reported() == []
    assert watched.snapshot().devices is NO_DEVICES
    watched.put(mine("p", "c"))
    assert len(watched.snapshot().devices.devices) == 1
    watched.put(as_status(on(mine("p", "c"), "n1"), "Succeeded"))
    assert watched.snapshot().devices is NO_DEVICES


def test_the_picture_is_the_same_while_nothing_changes() -> None:
    watched = watching()
    before = watched.snapshot().devices
    watched.put(node("n3"), pod("plain", group="g", cpu="1"), device_claim("c"))
    assert watched.snapshot().devices is before
    watched.put(device_claim("c", users=["u"]))
    after = watched.snapshot().devices
    assert after is not before
    assert after.devices is before.devices
    assert before.claims[f"{NAMESPACE}/c"].users == frozenset(), "a picture is not changed any more"


def test_claims_say_what_they_have_and_who_uses_them() -> None:
    config = ClaimConfig(requests=["gpu"])
    gone = allocated(("n1", "d1"), ("n9", "gone"))
    watched = watching(device_claim("x", allocation=gone, users=["u1"], config=[config]))
    found = info(watched, "x")
    assert (found.uid, found.users, found.is_given) == ("claim-x", frozenset({"u1"}), True)
    assert (found.devices, found.config) == ((1,), (config,))
    assert info(watched, "c").devices == ()
    assert not info(watched, "c").is_given


def test_admin_access_takes_nothing_away() -> None:
    watched = watching(device_claim("x", allocation=allocated(("n1", "d0"), admin=True)))
    found = info(watched, "x")
    assert (found.is_given, found.devices) == (True, ())
    assert assume(watched, "p", "c", FIRST)


def test_positions_follow_devices_that_come_and_go() -> None:
    watched = watching(device_claim("x", allocation=SECOND))
    assert info(watched, "x").devices == (1,)
    watched.put(resource_slice("s", "new", "d0", "d1", on="n1"))
    assert info(watched, "x").devices == (2,)
    watched.put(resource_slice("s", "new", on="n1"))
    assert info(watched, "x").devices == ()


def test_what_classes_add_to_allocations_is_known() -> None:
    watched = watching(device_class("shared", config=[{"driver": "d", "parameters": {"a": 1}}]))
    assert watched.snapshot().devices.class_configs == {"shared": ({"driver": "d", "parameters": {"a": 1}},)}
    watched.delete(device_class("shared"))
    assert watched.snapshot().devices.class_configs == {}


# -- what wakes --------------------------------------------------------------------------------------------------------


def test_devices_that_become_free_are_decisive_and_those_that_are_taken_are_not() -> None:
    watched = watching()
    watched.put(device_claim("x", allocation=FIRST, users=["u"]))
    assert watched.reported() == []
    watched.put(device_claim("x", allocation=FIRST))
    assert watched.reported() == []
    watched.put(device_claim("x"))
    assert watched.reported() == [Change.DECISION]
    watched.put(device_claim("x", allocation=FIRST))
    watched.delete(device_claim("x"))
    assert watched.reported() == [Change.DECISION]


def test_a_device_that_changes_is_decisive() -> None:
    watched = watching()
    watched.put(resource_slice("s", "d0", device("d1", {"model": "b"}), on="n1"))
    assert watched.reported() == [Change.DECISION]
    watched.delete(resource_slice("s"))
    assert watched.reported() == [Change.DECISION]


# -- what is decided before the API server shows it --------------------------------------------------------------------


def decided() -> Watched:
    """Pod p was handed to the binder with a device for its claim."""
    watched = watching()
    assert assume(watched, "p", "c", FIRST)
    watched.quiet()
    return watched


def test_a_chosen_device_goes_to_no_other_claim() -> None:
    watched = decided()
    assert needs(watched, "p") == (GivenDevices(nodes=on_node("n1"), devices=ONE),)
    found = info(watched, "c")
    assert (found.devices, found.is_given, found.users) == ((0,), True, frozenset({uid("p")}))
    assert not assume(watched, "q", "e", FIRST)
    assert watched.status("q") is TaskStatus.PENDING
    assert assume(watched, "q", "e", SECOND)


def test_a_failed_binding_gives_the_device_back() -> None:
    watched = decided()
    watched.state.bind_failed(uid("p"), retry_at=0.0)
    assert needs(watched, "p") == needs(watched, "q")
    assert info(watched, "c").devices == ()
    assert assume(watched, "q", "e", FIRST)


def test_a_pod_that_is_deleted_gives_the_device_back() -> None:
    watched = decided()
    watched.put(deleted(mine("p", "c")))
    watched.delete(mine("p", "c"))
    assert not info(watched, "c").is_given


def test_a_pod_that_has_ended_gets_no_devices_any_more() -> None:
    watched = decided()
    watched.put(as_status(on(mine("p", "c"), "n1"), "Failed"))
    assert not info(watched, "c").is_given


def test_once_the_claim_is_reserved_the_api_server_has_the_say() -> None:
    watched = decided()
    watched.put(device_claim("c", allocation=FIRST, users=[uid("p")]))
    assert watched.reported() == [], "it shows what was decided"
    watched.state.bind_failed(uid("p"), retry_at=0.0)
    assert info(watched, "c").is_given
    watched.put(device_claim("c"))
    assert not info(watched, "c").is_given


def test_an_update_from_before_the_writing_changes_nothing() -> None:
    watched = decided()
    watched.put(device_claim("c", owner="late"))
    assert info(watched, "c").is_given


def test_another_claim_of_the_same_name_gets_nothing() -> None:
    watched = decided()
    watched.put(device_claim("c", uid="new"))
    assert isinstance(needs(watched, "p")[0], OpenDevices)
    watched.put(device_claim("c"))
    watched.delete(device_claim("c"))
    watched.put(device_claim("c"))
    assert not info(watched, "c").is_given


@pytest.mark.parametrize(
    ("change", "brings"),
    [
        pytest.param(device_claim("c", uid="new"), True, id="another claim"),
        pytest.param(device_claim("c", deleting=True), True, id="being deleted"),
        pytest.param(device_claim("c", allocation=SECOND), True, id="allocated by somebody else"),
        pytest.param(device_claim("x", allocation=FIRST), True, id="the device is another's"),
        pytest.param(device_claim("c"), False, id="no devices, and none brought"),
    ],
)
def test_what_was_decided_on_old_facts_is_not_carried_out(change: Any, brings: bool) -> None:
    watched = watching(change)
    assert not assume(watched, "p", "c", FIRST if brings else None)
    assert watched.place("p") == ""


def test_a_part_of_a_card_is_not_carried_out_when_another_has_taken_what_it_consumes() -> None:
    """`d0` is the whole of a card, `d1` and `d2` are halves; both claims of a pod count together."""
    sizes = {"d0": 40, "d1": 20, "d2": 20}
    parts = [device(name, consumes_counters=[consumes("card", memory=size)]) for name, size in sizes.items()]
    slices = [
        resource_slice("s", *parts, on="n1", count=2),
        resource_slice("t", on="n1", count=2, shared_counters=[counter_set("card", memory=40)]),
    ]
    watched = watching(slices, device_claim("x", allocation=SECOND))
    watched.snapshot()
    assert not assume(watched, "p", "c", FIRST)
    watched.put(device_claim("x"))
    given = [device_binding("c", FIRST), device_binding("e", SECOND)]
    assert not watched.state.assume_bound(uid("p"), "n1", (), given)
    third = [device_binding("c", allocated(("n1", "d2"), node="n1")), device_binding("e", SECOND)]
    assert watched.state.assume_bound(uid("p"), "n1", (), third)
    assert not assume(watched, "q", "e", FIRST)


def test_claims_share_a_device_as_long_as_its_capacity_lasts() -> None:
    """`d0` has 10 of memory: x has 4 of it, the API server shows, and p is about to get 3."""
    shared = device("d0", capacity={"memory": "10"}, allow_multiple_allocations=True)
    watched = watching(resource_slice("s", shared, on="n1"), device_claim("x", allocation=share(4), users=["u"]))
    watched.snapshot()
    assert assume(watched, "p", "c", share(3))
    picture = watched.snapshot().devices
    assert (picture.held.tolist(), picture.taken.tolist()) == ([2], [7 * 10**9])
    assert not assume(watched, "q", "e", share(4))
    assert assume(watched, "q", "e", share(3))
    watched.put(device_claim("x"))
    assert watched.reported() == [Change.DECISION]
    assert watched.snapshot().devices.taken.tolist() == [6 * 10**9]


def test_a_shared_device_that_a_claim_has_as_a_whole_has_nothing_left() -> None:
    """It was not shared when the claim got it."""
    shared = device("d0", capacity={"memory": "10"}, allow_multiple_allocations=True)
    watched = watching(resource_slice("s", shared, on="n1"), device_claim("x", allocation=FIRST))
    assert watched.snapshot().devices.taken.tolist() == [10 * 10**9]
    assert not assume(watched, "p", "c", share(1))


def share(memory: int) -> Allocation:
    result = DeviceResult("gpu", DRIVER, "n1", "d0", share_id="s", consumed_capacity={"memory": str(memory)})
    return Allocation(devices=AllocatedDevices(results=[result]), node_selector=on_node("n1"))


def test_a_claim_that_is_gone_is_not_available() -> None:
    watched = watching()
    watched.delete(device_claim("c"))
    assert not assume(watched, "p", "c", FIRST)


def test_a_claim_that_has_its_devices_is_only_reserved() -> None:
    watched = watching(device_claim("c", allocation=FIRST, users=[uid("p")]))
    assert assume(watched, "p", "c"), "as after a restart between the writing and the binding"
    watched.state.bind_failed(uid("p"), retry_at=0.0)
    assert info(watched, "c").users == frozenset({uid("p")})


def test_bindings_that_were_handed_over_before_keep_their_devices() -> None:
    watched = watching()
    bind = Bind(ObjectRef("Pod", "", "", uid("p")), "n1", "", devices=(device_binding("c", FIRST),))
    watched.state.restore_bound([bind])
    assert info(watched, "c").devices == (0,)


# -- pods that share a claim -------------------------------------------------------------------------------------------


def sharing() -> Watched:
    """Pods x, y and z of a gang share the claim `c`; x, whose binding brings the devices, and y are being bound."""
    watched = Watched(node("n1"), pod_group("g"), resource_slice("s", "d0", on="n1"), device_class(), device_claim("c"))
    watched.put(*(mine(name, "c") for name in "xyz"))
    binds = [
        Bind(ObjectRef("Pod", "", "", uid(name)), "n1", "", devices=(device_binding("c", allocation),))
        for name, allocation in (("x", FIRST), ("y", None))
    ]
    assert watched.state.assume_all_bound(binds) == [True, True]
    return watched


def test_the_first_pod_brings_the_devices_and_the_others_use_them() -> None:
    watched = sharing()
    given = (GivenDevices(f"{NAMESPACE}/c", on_node("n1"), ONE),)
    assert needs(watched, "x") == needs(watched, "y") == needs(watched, "z") == given
    assert info(watched, "c").users == {uid("x"), uid("y")}
    assert assume(watched, "z", "c")


def test_if_the_first_one_fails_the_others_do_not_get_the_devices() -> None:
    watched = sharing()
    watched.state.bind_failed(uid("x"), retry_at=0.0)
    assert (info(watched, "c").is_given, info(watched, "c").users) == (False, frozenset())
    watched.state.bind_failed(uid("y"), retry_at=0.0)
    assert assume(watched, "z", "c", FIRST)


def test_if_another_one_fails_the_devices_stay() -> None:
    watched = sharing()
    watched.state.bind_failed(uid("y"), retry_at=0.0)
    assert (info(watched, "c").is_given, info(watched, "c").users) == (True, frozenset({uid("x")}))


def test_devices_that_are_written_stay_with_the_others() -> None:
    watched = sharing()
    watched.put(device_claim("c", allocation=FIRST, users=[uid("x")]))
    watched.state.bind_failed(uid("x"), retry_at=0.0)
    assert (info(watched, "c").is_given, info(watched, "c").users) == (True, frozenset({uid("x"), uid("y")}))
    watched.put(device_claim("c"))
    assert (info(watched, "c").is_given, info(watched, "c").users) == (False, frozenset())


# -- what is known of claims that are to be written --------------------------------------------------------------------


def test_a_claim_without_devices_can_be_written_as_it_was_shown() -> None:
    shown = device_claim("c")
    meta = replace(shown.metadata, resource_version="7", finalizers=["example.com/mine"])
    watched = watching(replace(shown, metadata=meta))
    found = watched.state.vacant_claim(f"{NAMESPACE}/c")
    assert found == ClaimMeta(
        namespace=NAMESPACE, name="c", uid="claim-c", resource_version="7", finalizers=["example.com/mine"]
    )
    newer = replace(shown, metadata=replace(meta, resource_version="8"))
    watched.state.upsert("ResourceClaim", newer)
    assert assume(watched, "p", "c", FIRST)
    found = watched.state.vacant_claim(f"{NAMESPACE}/c")
    assert found is not None
    assert found.resource_version == "8"


def test_a_claim_with_devices_or_users_or_that_is_being_deleted_or_missing_has_to_be_read() -> None:
    for shown in (
        device_claim("c", allocation=FIRST),
        device_claim("c", users=["somebody"]),
        device_claim("c", deleting=True),
    ):
        assert watching(shown).state.vacant_claim(f"{NAMESPACE}/c") is None
    assert watching().state.vacant_claim(f"{NAMESPACE}/other") is None


def test_a_claim_takes_no_more_pods_than_the_api_server_lets_it_have() -> None:
    users = [f"u{number}" for number in range(MOST_RESERVATIONS - 1)]
    watched = watching(
        [device_claim("a", allocation=allocated(("n1", "d")), users=users)], [mine(name, "a") for name in "pqr"]
    )
    taken = [watched.state.assume_bound(uid(name), "n1", (), [device_binding("a")]) for name in "pqr"]
    assert taken == [True, False, False]
