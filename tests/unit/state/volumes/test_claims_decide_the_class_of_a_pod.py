"""Claims and volumes as they come: what they mean for the pods that use them, and what is decided before it shows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.placement.volumes import (
    LOCAL,
    MADE,
    capacity,
    claim,
    csi_driver,
    csi_node,
    storage_class,
    using,
    volume,
)
from tests.support.sessions import NAMESPACE, node, pod, pod_group
from tests.unit.state.watched import Watched, as_status, deleted, on
from volcano_py.api.effects import ClaimBinding, ObjectRef
from volcano_py.api.objects import ApiObject, Pod
from volcano_py.state.table.change import Change
from volcano_py.state.volumes.needs import BoundNeed, Need, OpenNeed, Trouble
from volcano_py.state.volumes.storage import Storage

CLASSES: list[ApiObject] = [storage_class(LOCAL), storage_class(MADE, provisioner="disk.csi")]


def mine(name: str, *claims: str) -> Pod:
    return using(pod(name, group="g", cpu="1"), *claims)


def watching(*objects: Any) -> Watched:
    return Watched(node("n1"), node("n2"), pod_group("g"), CLASSES, *objects)


def needs(watched: Watched, name: str) -> tuple[Need, ...]:
    return watched.class_of(name).volumes


def ref(name: str) -> ObjectRef:
    return ObjectRef("PersistentVolumeClaim", NAMESPACE, name, f"claim-{name}")


def uid(name: str) -> str:
    return pod(name).metadata.uid


def free(watched: Watched) -> list[str]:
    return [each.name for each in watched.snapshot().storage.free.get(LOCAL, ())]


# -- classes ----------------------------------------------------------------------------------------------------------


def test_pods_with_a_claim_each_are_one_class_if_the_claims_ask_for_the_same() -> None:
    watched = watching(claim("a"), claim("b"), claim("c", size="20Gi"), mine("a", "a"), mine("b", "b"), mine("c", "c"))
    assert watched.class_of("a") is watched.class_of("b")
    assert watched.class_of("a") is not watched.class_of("c")
    assert needs(watched, "a") == (
        OpenNeed(storage_class=LOCAL, size=10 * 2**30, access_modes=("ReadWriteOnce",), volume_mode="Filesystem"),
    )


def test_bound_claims_count_by_where_their_volumes_are() -> None:
    watched = watching(
        [claim(name, bound_to=f"v-{name}") for name in "abc"],
        [volume("v-a", on=["n1"], claim="a"), volume("v-b", on=["n1"], claim="b"), volume("v-c", on=["n2"], claim="c")],
        [mine(name, name) for name in "abc"],
    )
    assert watched.class_of("a") is watched.class_of("b")
    assert watched.class_of("a") is not watched.class_of("c")
    assert isinstance(needs(watched, "a")[0], BoundNeed)


def test_a_claim_that_several_pods_use_is_reported_by_its_name_while_they_are_several() -> None:
    watched = watching(claim("data", of=MADE, modes=["ReadWriteOncePod"]), mine("a", "data"))
    alone = needs(watched, "a")
    watched.put(mine("b", "data"))
    (shared,) = needs(watched, "a")
    assert isinstance(shared, OpenNeed)
    assert (shared.claim, shared.exclusive) == (f"{NAMESPACE}/data", True)
    assert needs(watched, "b") == (shared,)
    watched.delete(mine("b", "data"))
    assert needs(watched, "a") == alone


def test_a_finished_pod_uses_its_claims_no_more() -> None:
    watched = watching(claim("data", of=MADE), mine("a", "data"), mine("b", "data"))
    watched.put(as_status(on(mine("b", "data"), "n1"), "Succeeded"))
    (need,) = needs(watched, "a")
    assert isinstance(need, OpenNeed)
    assert need.claim == ""


def test_the_order_in_which_things_come_does_not_matter() -> None:
    objects = [*CLASSES, claim("a", bound_to="v"), volume("v", on=["n1"], claim="a"), mine("p", "a")]
    forwards, backwards = Watched(pod_group("g"), objects), Watched(pod_group("g"), objects[::-1])
    assert needs(forwards, "p") == needs(backwards, "p")
    assert isinstance(needs(forwards, "p")[0], BoundNeed)
    assert forwards.state.drift() == backwards.state.drift() == 0


def test_a_claim_hears_of_its_volume_though_another_one_names_it_too() -> None:
    watched = Watched(
        CLASSES, pod_group("g"), claim("data", bound_to="v"), mine("p", "data"), claim("later", named="v")
    )
    watched.put(volume("v"))  # who uses a volume again takes its claimRef away
    assert isinstance(needs(watched, "p")[0], BoundNeed)
    watched.delete(claim("later", named="v"))
    watched.delete(volume("v"))
    assert isinstance(needs(watched, "p")[0], Trouble)


@pytest.mark.parametrize(
    ("before", "change", "expected"),
    [
        pytest.param([], claim("data"), OpenNeed, id="the claim comes"),
        pytest.param([claim("data")], claim("data", deleting=True), Trouble, id="the claim goes"),
        pytest.param([claim("data"), volume("v")], claim("data", bound_to="v"), BoundNeed, id="the claim is bound"),
        pytest.param([claim("data", bound_to="v")], volume("v", claim="data"), BoundNeed, id="its volume comes"),
        pytest.param([claim("data", of="new")], storage_class("new"), OpenNeed, id="its class comes"),
        pytest.param([claim("data")], volume("v", claim="data"), OpenNeed, id="a volume is made for it"),
    ],
)
def test_what_changes_about_a_claim_moves_its_pod_and_wakes(before: list[Any], change: Any, expected: type) -> None:
    watched = watching(before, mine("p", "data"))
    old = watched.class_of("p")
    watched.put(change)
    assert Change.DECISION in watched.reported()
    assert watched.class_of("p") is not old
    assert isinstance(needs(watched, "p")[0], expected)
    assert watched.state.drift() == 0
    watched.put(change)
    assert watched.reported() == []


def test_a_claim_that_is_gone_keeps_its_pod_waiting() -> None:
    watched = watching(claim("data"), mine("p", "data"))
    watched.delete(claim("data", uid="another"))
    assert isinstance(needs(watched, "p")[0], OpenNeed)
    watched.delete(claim("data"))
    assert isinstance(needs(watched, "p")[0], Trouble)
    assert Change.DECISION in watched.reported()


def test_pods_on_nodes_have_no_troubles() -> None:
    watched = watching(on(mine("p", "missing"), "n1"))
    assert needs(watched, "p") == ()
    watched.put(claim("missing", bound_to="v"), volume("v", claim="missing"))
    assert isinstance(needs(watched, "p")[0], BoundNeed)


# -- what wakes, and what a cycle sees --------------------------------------------------------------------------------


def test_storage_matters_only_where_pods_have_claims() -> None:
    watched = watching(pod("plain", group="g", cpu="1"))
    watched.put(
        volume("v"), claim("data"), csi_node("n1", disk=3), csi_driver("disk"), capacity("c", free="1Gi", nodes={})
    )
    watched.put(storage_class("other"))
    assert watched.reported() == []
    assert watched.snapshot().storage.free == Storage().free == {}
    watched.put(mine("p", "data"))
    assert free(watched) == ["v"]
    assert watched.snapshot().storage.claims == {f"{NAMESPACE}/data": "claim-data"}


def test_a_volume_that_becomes_free_is_decisive_and_one_that_is_taken_is_not() -> None:
    watched = watching(claim("data"), mine("p", "data"))
    watched.put(volume("v", phase="Pending"))
    assert watched.reported() == []
    watched.put(volume("v"))
    assert watched.reported() == [Change.DECISION]
    watched.put(volume("v", claim="others"))
    assert watched.reported() == []
    assert free(watched) == []


def test_more_room_is_decisive_and_less_is_not() -> None:
    watched = watching(claim("data", of=MADE), mine("p", "data"), capacity("c", free="10Gi", nodes={}))
    watched.put(capacity("c", free="9Gi", nodes={}))
    assert watched.reported() == []
    watched.put(capacity("c", free="10Gi", nodes={}))
    assert watched.reported() == [Change.DECISION]
    watched.put(capacity("c", free="10Gi", nodes={"zone": "b"}))
    assert watched.reported() == [Change.DECISION]
    watched.put(capacity("c", nodes={}))
    assert watched.reported() == []


def test_free_volumes_come_smallest_first() -> None:
    large, first, second = volume("a", size="30Gi"), volume("c", size="20Gi"), volume("b", size="20Gi")
    watched = watching(claim("data"), mine("p", "data"), large, first, second)
    assert free(watched) == ["b", "c", "a"]
    assert watched.snapshot().storage is watched.snapshot().storage


def test_limits_are_reported_by_driver_and_node() -> None:
    watched = watching(mine("p", "data"), csi_node("n1", a=3, b=None), csi_node("n2", a=4))
    assert watched.snapshot().storage.limits == {"a": {"n1": 3, "n2": 4}}


# -- what is decided before the API server shows it -------------------------------------------------------------------


def decided() -> Watched:
    """A pod was handed to the binder with a volume for its claim."""
    watched = watching(claim("data"), claim("more"), volume("v"), mine("p", "data"), mine("q", "more"))
    assert watched.state.assume_bound(uid("p"), "n1", [ClaimBinding(ref("data"), "v")])
    return watched


def test_a_chosen_volume_goes_to_no_other_claim() -> None:
    watched = decided()
    assert free(watched) == []
    (need,) = needs(watched, "p")
    assert isinstance(need, OpenNeed)
    assert need.reserved == "v"
    assert [*watched.snapshot().storage.kept] == ["v"]
    assert not watched.state.assume_bound(uid("q"), "n2", [ClaimBinding(ref("more"), "v")])
    assert watched.status("q").name == "PENDING"


def test_a_failed_binding_gives_the_volume_back() -> None:
    watched = decided()
    watched.state.bind_failed(uid("p"), retry_at=0.0)
    assert free(watched) == ["v"]
    assert needs(watched, "p") == needs(watched, "q")
    assert watched.state.assume_bound(uid("q"), "n2", [ClaimBinding(ref("more"), "v")])


def test_a_pod_that_is_deleted_gives_the_volume_back() -> None:
    watched = decided()
    watched.put(deleted(mine("p", "data")))
    watched.delete(mine("p", "data"))
    assert free(watched) == ["v"]


def test_once_the_claim_is_bound_the_api_server_has_the_say() -> None:
    watched = decided()
    watched.put(claim("data", bound_to="v"), volume("v", claim="data", claim_uid="claim-data"))
    assert isinstance(needs(watched, "p")[0], BoundNeed)
    watched.state.bind_failed(uid("p"), retry_at=0.0)
    assert isinstance(needs(watched, "p")[0], BoundNeed)
    assert free(watched) == []


def test_a_volume_that_is_made_for_a_node_keeps_the_claim_there() -> None:
    watched = watching(claim("data", of=MADE), mine("p", "data"))
    assert watched.state.assume_bound(uid("p"), "n1", [ClaimBinding(ref("data"))])
    (need,) = needs(watched, "p")
    assert isinstance(need, OpenNeed)
    assert (need.node, need.reserved) == ("n1", "")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(claim("data", uid="new"), id="another claim"),
        pytest.param(claim("data", bound_to="w"), id="bound to another volume"),
        pytest.param(claim("data", deleting=True), id="the claim is being deleted"),
        pytest.param(volume("v", deleting=True), id="the volume is being deleted"),
        pytest.param(volume("v", claim="others"), id="the volume is another's"),
    ],
)
def test_what_was_decided_on_old_facts_is_not_carried_out(change: Any) -> None:
    watched = watching(claim("data"), volume("v"), mine("p", "data"))
    watched.put(change)
    assert not watched.state.assume_bound(uid("p"), "n1", [ClaimBinding(ref("data"), "v")])
    assert watched.place("p") == ""


def test_a_claim_that_got_a_node_meanwhile_is_not_ordered_for_another() -> None:
    watched = watching(claim("data", of=MADE, node="n2"), mine("p", "data"))
    assert not watched.state.assume_bound(uid("p"), "n1", [ClaimBinding(ref("data"))])
    assert watched.state.assume_bound(uid("p"), "n2", [ClaimBinding(ref("data"))])


def test_pods_that_share_a_claim_may_use_its_volume_on_several_nodes() -> None:
    watched = watching(claim("data"), volume("v"), mine("p", "data"), mine("q", "data"))
    binding = ClaimBinding(ref("data"), "v")
    assert watched.state.assume_bound(uid("p"), "n1", [binding])
    assert watched.state.assume_bound(uid("q"), "n2", [binding])


def test_pods_that_share_a_claim_whose_volume_is_created_go_to_one_node() -> None:
    watched = watching(claim("data", of=MADE), mine("p", "data"), mine("q", "data"))
    binding = ClaimBinding(ref("data"))
    assert watched.state.assume_bound(uid("p"), "n1", [binding])
    assert not watched.state.assume_bound(uid("q"), "n2", [binding])
    assert watched.state.assume_bound(uid("q"), "n1", [binding])
