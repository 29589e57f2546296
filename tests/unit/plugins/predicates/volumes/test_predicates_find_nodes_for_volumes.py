"""Volumes that exist and volumes to be made: which nodes can give a pod what its claims ask for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.placement.node_answers import answers, class_of, willing
from tests.support.placement.volumes import (
    CLASSES,
    LOCAL,
    MADE,
    REGION,
    ZONE,
    capacity,
    claim,
    csi_driver,
    mine,
    nodes,
    session,
    storage_class,
    using,
    volume,
)
from tests.support.sessions import Objects, Opened, node, open_session, pod, pod_group
from volcano_py.api.effects import Bind
from volcano_py.api.reasons import Reason
from volcano_py.framework.plugin import Reach
from volcano_py.plugins.predicates import Predicates

NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"
OTHER_ZONE = "node(s) had no available volume zone"
NO_SPACE = "node(s) did not have enough free storage"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


def refusal(opened: Opened, name: str = "p") -> tuple[Reason, str]:
    """What keeps the pod from every node."""
    found = opened.plugin(Predicates).pre_predicate(class_of(opened, name))
    assert found is not None
    return found.reason, found.message


# -- claims that keep a pod from every node ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "message"),
    [
        pytest.param([], "PersistentVolumeClaim team/data does not exist; create it", id="missing"),
        pytest.param(
            [claim("data", deleting=True)],
            "PersistentVolumeClaim team/data is being deleted; create it again when it is gone",
            id="deleting",
        ),
        pytest.param(
            [claim("data", bound_to="gone", phase="Lost")],
            "PersistentVolumeClaim team/data has lost its volume gone; restore the volume or recreate the claim",
            id="lost",
        ),
        pytest.param(
            [claim("data", bound_to="gone")],
            "PersistentVolumeClaim team/data is bound to volume gone, which does not exist; restore the volume",
            id="bound to nothing",
        ),
        pytest.param(
            [claim("data", named="pv"), volume("pv")],
            "PersistentVolumeClaim team/data names volume pv and is not bound to it yet; kubectl -n team describe pvc "
            "data shows why",
            id="names a volume",
        ),
        pytest.param(
            [storage_class("now", provisioner="disk.csi", waits=False), claim("data", of="now")],
            "PersistentVolumeClaim team/data is not bound yet; its storage class now binds without a pod: "
            "kubectl -n team describe pvc data shows why",
            id="immediate",
        ),
        pytest.param(
            [claim("data", of="nowhere")],
            "PersistentVolumeClaim team/data is not bound, and its storage class nowhere does not exist; create "
            "that class or name another",
            id="no such class",
        ),
        pytest.param(
            [claim("data", of="")],
            "PersistentVolumeClaim team/data is not bound yet; it names no storage class, so it waits for a volume: "
            "create a volume, or name a storage class",
            id="no class",
        ),
    ],
)
def test_a_claim_that_is_not_ready_is_named_with_what_to_do(there: list[Any], message: str) -> None:
    opened = session(mine("data"), there)
    assert refusal(opened) == (Reason.VOLUME_NOT_READY, message)
    assert answers(opened, Predicates, "p") == dict.fromkeys(["n1", "n2", "n3"], message)


def test_the_claim_of_an_ephemeral_volume_is_made_for_its_pod_alone() -> None:
    ephemeral = using(pod("p", group="g", cpu="1"), ephemeral=["scratch"])
    assert refusal(session(ephemeral))[1].endswith("this lasts, look at the log of kube-controller-manager")
    foreign = session(ephemeral, claim("p-scratch", of=MADE))
    assert refusal(foreign)[1].startswith("PersistentVolumeClaim team/p-scratch was not created for this pod")
    own = session(ephemeral, claim("p-scratch", of=MADE, owner=ephemeral.metadata.uid))
    assert willing(own, Predicates, "p") == ["n1", "n2", "n3"]


def test_claims_are_not_looked_at_when_switched_off() -> None:
    assert willing(session(mine("data"), VolumeBinding=False), Predicates, "p") == ["n1", "n2", "n3"]


# -- bound claims -----------------------------------------------------------------------------------------------------


def test_a_bound_volume_is_used_where_it_can_be() -> None:
    opened = session(mine("data"), claim("data", bound_to="pv"), volume("pv", on=["n2", "n3"], claim="data"))
    assert answers(opened, Predicates, "p") == {"n1": OUT_OF_REACH, "n2": "", "n3": ""}


def test_every_volume_has_to_be_in_reach() -> None:
    opened = session(
        mine("a", "b"),
        [claim("a", bound_to="pa"), volume("pa", on=["n1", "n2"], claim="a")],
        [claim("b", bound_to="pb"), volume("pb", on=["n2", "n3"], claim="b")],
    )
    assert willing(opened, Predicates, "p") == ["n2"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({ZONE: "a"}, ["n1", "n2", "unlabelled"], id="one zone"),
        pytest.param({ZONE: "a__b"}, ["n1", "n2", "n3", "unlabelled"], id="two zones"),
        pytest.param({"failure-domain.beta.kubernetes.io/zone": "b"}, ["n3", "unlabelled"], id="by its old name"),
        pytest.param({ZONE: "c"}, ["unlabelled"], id="a zone without nodes"),
        pytest.param({REGION: "x"}, ["unlabelled"], id="a label that the nodes lack"),
        pytest.param({}, ["n1", "n2", "n3", "unlabelled"], id="none"),
    ],
)
def test_zones_of_a_volume_are_respected_on_nodes_that_have_zones(labels: dict[str, str], expected: list[str]) -> None:
    bound = (claim("data", bound_to="pv"), volume("pv", labels=labels, claim="data"))
    at = [*nodes(), node("unlabelled")]
    assert willing(session(mine("data"), bound, at=at), Predicates, "p") == expected
    assert len(willing(session(mine("data"), bound, at=at, VolumeZone=False), Predicates, "p")) == 4


def test_of_the_two_names_of_a_zone_the_one_that_the_volume_has_counts_first() -> None:
    old = "failure-domain.beta.kubernetes.io/zone"
    bound = (claim("data", bound_to="pv"), volume("pv", labels={old: "b"}, claim="data"))
    at = [node("moved", labels={old: "a", ZONE: "b"}), node("there", labels={old: "b", ZONE: "c"})]
    assert willing(session(mine("data"), bound, at=at), Predicates, "p") == ["there"]


# -- volumes that exist -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        pytest.param(claim("data", size="101Gi"), volume("pv", on=["n1"]), id="too small"),
        pytest.param(claim("data", modes=["ReadWriteMany"]), volume("pv", on=["n1"]), id="another access mode"),
        pytest.param(claim("data", volume_mode="Block"), volume("pv", on=["n1"]), id="another mode"),
        pytest.param(claim("data", selector={"tier": "fast"}), volume("pv", on=["n1"]), id="not selected"),
        pytest.param(claim("data"), volume("pv", on=["n1"], of="other"), id="another class"),
        pytest.param(claim("data"), volume("pv", on=["n1"], claim="others"), id="another claim's"),
        pytest.param(claim("data"), volume("pv", on=["n1"], phase="Released"), id="released"),
        pytest.param(claim("data"), volume("pv", on=["n1"], deleting=True), id="being deleted"),
        pytest.param(claim("data"), volume("pv", on=["elsewhere"]), id="of no node"),
    ],
)
def test_a_volume_that_does_not_suit_is_not_used(asked: Any, there: Any) -> None:
    opened = session(mine("data"), asked, there)
    assert answers(opened, Predicates, "p") == {"n1": NO_VOLUME, "n2": NO_VOLUME, "n3": NO_VOLUME}


def test_a_volume_that_suits_draws_the_pod_to_its_node() -> None:
    fast = volume("pv", on=["n2"], labels={"tier": "fast"}, modes=["ReadWriteOnce", "ReadOnlyMany"])
    opened = session(mine("data"), claim("data", size="100Gi", selector={"tier": "fast"}), fast)
    assert willing(opened, Predicates, "p") == ["n2"]


def test_a_volume_kept_for_the_claim_is_taken_before_others_even_if_its_class_is_another() -> None:
    opened = session(
        mine("data"),
        claim("data", uid="claim-data"),
        volume("mine", on=["n3"], of="other", claim="data", phase="Available"),
        volume("free", on=["n1"]),
    )
    assert willing(opened, Predicates, "p") == ["n3"]


def test_a_volume_kept_for_a_namesake_of_the_claim_is_not_its_own() -> None:
    opened = session(mine("data"), claim("data"), volume("old", on=["n3"], claim="data", claim_uid="another"))
    assert willing(opened, Predicates, "p") == []


# -- volumes to be made -----------------------------------------------------------------------------------------------


def test_volumes_are_created_where_their_class_allows() -> None:
    zonal = storage_class("zonal", provisioner="disk.csi", zones=["b"])
    opened = session(mine("data"), zonal, claim("data", of="zonal"))
    assert answers(opened, Predicates, "p") == {"n1": NO_VOLUME, "n2": NO_VOLUME, "n3": ""}


def test_a_class_that_makes_none_needs_one_that_exists() -> None:
    assert willing(session(mine("data"), claim("data")), Predicates, "p") == []
    assert willing(session(mine("data"), claim("data", of=MADE)), Predicates, "p") == ["n1", "n2", "n3"]


@pytest.mark.parametrize(
    ("rooms", "expected"),
    [
        pytest.param([capacity("c", free="10Gi", nodes={ZONE: "a"})], ["n1", "n2"], id="just enough"),
        pytest.param([capacity("c", free="9Gi", nodes={ZONE: "a"})], [], id="too little"),
        pytest.param([capacity("c", free="1Ti", largest="9Gi", nodes={})], [], id="too large for one volume"),
        pytest.param([capacity("c", free="1Ti", nodes={})], ["n1", "n2", "n3"], id="everywhere"),
        pytest.param([capacity("c", free="1Ti")], [], id="nowhere"),
        pytest.param([capacity("c", nodes={})], [], id="unknown"),
        pytest.param([capacity("c", of=LOCAL, free="1Ti", nodes={})], [], id="of another class"),
        pytest.param(
            [capacity("c", free="1Gi", nodes={ZONE: "a"}), capacity("d", free="1Ti", nodes={ZONE: "b"})],
            ["n3"],
            id="here little, there much",
        ),
        pytest.param([], [], id="none reported"),
    ],
)
def test_a_driver_that_reports_its_room_is_believed(rooms: list[Any], expected: list[str]) -> None:
    opened = session(mine("data"), claim("data", of=MADE), csi_driver("disk.csi"), rooms)
    said = answers(opened, Predicates, "p")
    assert [name for name, answer in said.items() if not answer] == expected
    assert {answer for answer in said.values() if answer} <= {NO_SPACE}


def test_a_driver_that_reports_no_room_counts_as_having_room() -> None:
    silent = csi_driver("disk.csi", reports_capacity=False)
    assert len(willing(session(mine("data"), claim("data", of=MADE), silent), Predicates, "p")) == 3


def test_a_volume_that_is_being_made_for_a_node_keeps_its_pod_there() -> None:
    opened = session(mine("data"), claim("data", of=MADE, node="n2"))
    assert answers(opened, Predicates, "p") == {"n1": NO_VOLUME, "n2": "", "n3": NO_VOLUME}


# -- several claims of a pod ------------------------------------------------------------------------------------------


def test_two_claims_of_a_pod_need_two_volumes_of_a_node() -> None:
    opened = session(
        mine("a", "b"),
        [claim("a"), claim("b"), volume("one", on=["n1"]), volume("two", on=["n2"]), volume("three", on=["n2"])],
    )
    assert willing(opened, Predicates, "p") == ["n2"]


def test_the_smaller_claim_takes_the_smaller_volume() -> None:
    opened = session(
        [mine("large", "small"), claim("large", size="60Gi"), claim("small", size="10Gi")],
        [volume("s", on=["n1"], size="50Gi"), volume("l", on=["n1"], size="100Gi")],
    )
    opened.place("g", {"p": "n1"}).commit()
    assert bindings(opened) == {"large": "l", "small": "s"}


def test_the_smaller_claim_has_the_first_choice_whichever_is_mentioned_first() -> None:
    opened = session(
        [mine("large", "small"), claim("large", size="50Gi"), claim("small", size="10Gi")],
        [volume("s", on=["n1"], size="60Gi"), volume("l", on=["n1"], size="100Gi")],
    )
    opened.place("g", {"p": "n1"}).commit()
    assert bindings(opened) == {"large": "l", "small": "s"}


def bindings(opened: Opened) -> dict[str, str]:
    """Claim → the volume it gets, of everything that was bound."""
    binds = [effect for effect in opened.effects if isinstance(effect, Bind)]
    return {binding.claim.name: binding.volume for bind in binds for binding in bind.claims}


# -- what is placed in the cycle --------------------------------------------------------------------------------------


def two_pods(*objects: Objects) -> Opened:
    return session(mine("a"), mine("b", name="q"), claim("a"), claim("b"), *objects)


def test_pods_whose_claims_ask_for_the_same_are_one_class() -> None:
    opened = two_pods(volume("pv", on=["n1"]))
    assert class_of(opened, "p") is class_of(opened, "q")


def test_a_volume_goes_to_one_pod_until_it_gives_it_back() -> None:
    opened = two_pods(volume("v1", on=["n1"]), volume("v2", on=["n2"]))
    assert willing(opened, Predicates, "q") == ["n1", "n2"]
    statement = opened.place("g", {"p": "n1"})
    assert willing(opened, Predicates, "q") == ["n2"]
    statement.discard()
    assert willing(opened, Predicates, "q") == ["n1", "n2"]
    opened.place("g", {"p": "n2", "q": "n1"}).commit()
    assert bindings(opened) == {"a": "v2", "b": "v1"}


def test_what_is_given_back_is_there_for_claims_of_another_size_too() -> None:
    opened = session(mine("a"), mine("b", name="q"), claim("a"), claim("b", size="20Gi"), volume("v1", on=["n1"]))
    opened.place("g", {"p": "n1"}).discard()
    assert willing(opened, Predicates, "q") == ["n1"]


def test_a_volume_of_several_nodes_that_is_taken_is_gone_on_all_of_them() -> None:
    opened = two_pods(volume("wide", on=["n1", "n2"]), volume("everywhere", size="200Gi"))
    opened.place("g", {"p": "n1"})
    assert willing(opened, Predicates, "q") == ["n1", "n2", "n3"]
    opened.place("g", {"q": "n3"}).commit()
    assert bindings(opened)["b"] == "everywhere"
    assert opened.plugin(Predicates).predicate_reach(class_of(opened, "q")) is Reach.DOMAIN


def test_the_smallest_volume_that_is_left_is_taken() -> None:
    opened = two_pods(volume("z", on=["n1"], size="20Gi"), volume("a", on=["n1"], size="30Gi"), volume("wide"))
    opened.place("g", {"p": "n1", "q": "n1"}).commit()
    assert bindings(opened) == {"a": "z", "b": "a"}


def test_the_placer_fills_nodes_with_as_many_pods_as_they_have_volumes() -> None:
    opened = two_pods(volume("v1", on=["n1"]), volume("v2", on=["n3"]))
    task_class = class_of(opened, "p")
    assert opened.plugin(Predicates).predicate_reach(task_class) is Reach.ROW
    choice = opened.ssn.placer.choose(task_class, 5)
    assert sorted(opened.ssn.nodes.names[choice.nodes]) == ["n1", "n3"]


def test_what_is_promised_a_pod_is_taken_too() -> None:
    opened = two_pods(volume("v1", on=["n1"]))
    opened.pipeline("g", {"p": "n1"})
    assert willing(opened, Predicates, "q") == []


def test_a_binding_says_what_its_claims_get_and_how_long_that_may_take() -> None:
    opened = open_session(
        CLASSES,
        [mine("a", "b"), claim("a"), claim("b", of=MADE), volume("v1", on=["n1"])],
        pod_group("g"),
        nodes(),
        tiers=[[(Predicates, {"arguments": {"volumebinding.bindTimeoutSeconds": 60}})]],
    )
    opened.place("g", {"p": "n1"}).commit()
    (bind,) = [effect for effect in opened.effects if isinstance(effect, Bind)]
    assert [(each.claim.key, each.claim.uid, each.volume) for each in bind.claims] == [
        ("team/a", "claim-a", "v1"),
        ("team/b", "claim-b", ""),
    ]
    assert bind.claims_within == 60


def test_a_pod_whose_claims_are_bound_is_bound_without_more_ado() -> None:
    opened = session(mine("data"), claim("data", bound_to="pv"), volume("pv", claim="data"))
    opened.place("g", {"p": "n1"}).commit()
    assert bindings(opened) == {}
    assert opened.binds == {"p": "n1"}


# -- claims that several pods use -------------------------------------------------------------------------------------


def test_pods_that_share_a_claim_go_where_its_volume_is() -> None:
    opened = session(mine("data"), mine("data", name="q"), claim("data"), volume("wide", on=["n1", "n2"]))
    opened.place("g", {"p": "n1"})
    assert willing(opened, Predicates, "q") == ["n1", "n2"]
    opened.place("g", {"q": "n2"}).commit()
    assert bindings(opened) == {"data": "wide"}


def test_pods_that_share_a_claim_being_provisioned_go_to_the_node_of_its_volume() -> None:
    opened = session(mine("data"), mine("data", name="q"), claim("data", of=MADE))
    statement = opened.place("g", {"p": "n2"})
    assert willing(opened, Predicates, "q") == ["n2"]
    statement.discard()
    assert willing(opened, Predicates, "q") == ["n1", "n2", "n3"]


def test_a_claim_for_one_pod_at_a_time_waits_for_the_other_pod() -> None:
    alone = claim("data", bound_to="pv", modes=["ReadWriteOncePod"])
    there = (alone, volume("pv", claim="data"))
    assert len(willing(session(mine("data"), there), Predicates, "p")) == 3
    holder = using(pod("holder", group="g", on="n1"), "data")
    opened = session(mine("data"), there, holder)
    assert answers(opened, Predicates, "p") == dict.fromkeys(["n1", "n2", "n3"], IN_USE)
    codes = opened.ssn.placer.codes(class_of(opened, "p"))
    assert opened.ssn.resolvable(codes).all()


def test_a_claim_for_one_pod_at_a_time_is_free_once_the_pod_that_has_it_is_gone() -> None:
    there = (claim("data", bound_to="pv", modes=["ReadWriteOncePod"]), volume("pv", claim="data"))
    opened = session(mine("data"), there, using(pod("holder", group="g", on="n1"), "data"))
    task_class = class_of(opened, "p")
    assert not opened.ssn.placer.may_take(task_class, opened.node_row("n2"))
    statement = opened.evict("holder")
    assert opened.ssn.placer.may_take(task_class, opened.node_row("n2"))
    choice = opened.ssn.placer.choose(task_class, 1)
    assert (len(choice.nodes), choice.pipelined) == (1, True)
    statement.discard()
    assert not opened.ssn.placer.may_take(task_class, opened.node_row("n2"))


def test_of_two_pods_with_a_claim_for_one_only_one_is_placed() -> None:
    opened = session(mine("data"), mine("data", name="q"), claim("data", of=MADE, modes=["ReadWriteOncePod"]))
    assert len(willing(opened, Predicates, "q")) == 3
    opened.place("g", {"p": "n1"})
    assert willing(opened, Predicates, "q") == []


def test_a_claim_for_one_pod_at_a_time_is_in_use_once_its_place_is_promised() -> None:
    opened = session(mine("data"), mine("data", name="q"), claim("data", of=MADE, modes=["ReadWriteOncePod"]))
    assert len(willing(opened, Predicates, "q")) == 3
    opened.pipeline("g", {"p": "n1"})
    assert willing(opened, Predicates, "q") == []


def test_the_placer_hears_on_every_node_that_a_claim_for_one_is_in_use() -> None:
    there = (claim("data", bound_to="pv", modes=["ReadWriteOncePod"]), volume("pv", claim="data"))
    opened = session(mine("data"), mine("data", name="q"), there)
    task_class = class_of(opened, "q")
    assert task_class.row == class_of(opened, "p").row
    assert len(opened.ssn.placer.choose(task_class, 2).nodes) == 1
    opened.place("g", {"p": "n1"})
    assert len(opened.ssn.placer.choose(task_class, 1).nodes) == 0
