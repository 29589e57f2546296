"""Kubernetes' volume controllers, played: what claims and volumes become in a cluster in memory."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.placement.volumes import (
    HOST,
    LOCAL,
    MADE,
    claim,
    csi_node,
    storage_class,
    using,
    volume,
)
from tests.support.sessions import NAMESPACE, node, pod
from tests.unit.cluster.fakes import DeafSink
from volcano_py.api.effects import Bind, ClaimBinding, ObjectRef
from volcano_py.api.objects import ApiObject, OwnerReference, Pod, Volume
from volcano_py.api.volumes import DEFAULT_CLASS, SELECTED_NODE, PersistentVolume, PersistentVolumeClaim
from volcano_py.cluster.manifests import read_text, stored
from volcano_py.cluster.memory import MemoryCluster

ZONE = "topology.kubernetes.io/zone"
NOW = storage_class("now", provisioner="disk.csi", waits=False)


def cluster(*objects: ApiObject) -> MemoryCluster:
    """A cluster whose volume controllers have run once."""
    made = MemoryCluster(DeafSink())
    classes = (storage_class(LOCAL), storage_class(MADE, provisioner="disk.csi", zones=["a"]), NOW)
    for each in (*classes, node("n1", labels={HOST: "n1", ZONE: "a"}), *objects):
        made.put(type(each).__name__, each)
    made.provide_volumes()
    return made


def bound(made: MemoryCluster, name: str = "data") -> str:
    """The volume of a claim, "" while it has none."""
    found = the_claim(made, name)
    assert found.is_bound == (found.status.phase == "Bound")
    return found.spec.volume_name


def the_claim(made: MemoryCluster, name: str) -> PersistentVolumeClaim:
    found = made.get("PersistentVolumeClaim", f"{NAMESPACE}/{name}", PersistentVolumeClaim)
    assert found is not None
    return found


def the_volume(made: MemoryCluster, name: str) -> PersistentVolume:
    found = made.get("PersistentVolume", name, PersistentVolume)
    assert found is not None
    return found


def bind(*claims: ClaimBinding, name: str = "p") -> Bind:
    return Bind(ObjectRef("Pod", NAMESPACE, name, pod(name).metadata.uid), "n1", "team/g", claims=claims)


def gets(volume: str = "", name: str = "data") -> ClaimBinding:
    return ClaimBinding(ObjectRef("PersistentVolumeClaim", NAMESPACE, name, f"claim-{name}"), volume)


def test_a_claim_that_waits_for_no_pod_gets_the_smallest_volume_that_suits_it() -> None:
    made = cluster(
        claim("data", of="now", size="20Gi"),
        volume("small", of="now", size="10Gi"),
        volume("large", of="now", size="90Gi"),
        volume("fitting", of="now", size="30Gi"),
        volume("other", of=LOCAL, size="25Gi"),
    )
    assert bound(made) == "fitting"
    assert the_volume(made, "fitting").status.phase == "Bound"
    assert the_volume(made, "large").status.phase == "Available"


def test_or_a_new_one() -> None:
    made = cluster(claim("data", of="now", size="20Gi"), csi_node("n1", **{"disk.csi": 5}))
    new = the_volume(made, bound(made))
    assert (new.spec.capacity, new.spec.node_affinity) == ({"storage": "20Gi"}, None)
    assert new.spec.csi is not None
    assert new.spec.csi.driver == "disk.csi"


def test_a_claim_that_waits_for_a_pod_gets_nothing_by_itself() -> None:
    made = cluster(claim("data"), claim("new", of=MADE), volume("v"))
    assert (bound(made), bound(made, "new")) == ("", "")
    assert the_volume(made, "v").status.phase == "Available"


@pytest.mark.parametrize(
    "there",
    [
        pytest.param(claim("data"), id="the volume names the claim"),
        pytest.param(claim("data", named="v"), id="both name each other"),
        pytest.param(claim("data", of="nowhere"), id="whatever the class"),
    ],
)
def test_a_volume_that_is_kept_for_a_claim_goes_to_it(there: PersistentVolumeClaim) -> None:
    assert bound(cluster(there, volume("v", claim="data", phase="Available"))) == "v"


def test_a_claim_that_names_a_volume_gets_it_unless_it_is_anothers() -> None:
    assert bound(cluster(claim("data", named="v"), volume("v"))) == "v"
    made = cluster(claim("data", named="v"), volume("v", claim="other", claim_uid="claim-other"))
    found = the_claim(made, "data")
    assert not found.is_bound
    assert the_volume(made, "v").status.phase == "Released"


def test_a_claim_whose_volume_is_gone_is_lost() -> None:
    made = cluster(claim("data", bound_to="v"))
    found = the_claim(made, "data")
    assert found.status.phase == "Lost"


def test_a_pod_is_bound_once_its_claims_are() -> None:
    made = cluster(claim("data"), claim("new", of=MADE), volume("v"), using(pod("p"), "data", "new"))
    made.apply([bind(gets("v"), gets(name="new"))])
    assert made.binds == {}
    made.settle()
    assert made.binds == {f"{NAMESPACE}/p": "n1"}
    assert bound(made) == "v"
    new = the_volume(made, bound(made, "new"))
    assert new.spec.node_affinity is not None
    assert new.spec.node_affinity.required is not None
    (term,) = new.spec.node_affinity.required.node_selector_terms
    assert [(each.key, each.values) for each in term.match_expressions] == [(ZONE, ["a"])]


def test_a_claim_of_another_uid_is_left_alone() -> None:
    made = cluster(claim("data", uid="new"), volume("v"), using(pod("p"), "data"))
    made.apply([bind(gets("v"))])
    made.settle()
    assert (bound(made), made.binds) == ("", {})


def test_the_claim_of_an_ephemeral_volume_is_made_for_its_pod() -> None:
    template = {"volumeClaimTemplate": {"spec": {"storageClassName": "now", "accessModes": ["ReadWriteOnce"]}}}
    plain = pod("p")
    owner: Pod = msgspec.structs.replace(
        plain, spec=msgspec.structs.replace(plain.spec, volumes=[Volume(name="scratch", ephemeral=template)])
    )
    made = cluster(owner)
    assert bound(made, "p-scratch").startswith("pvc-")
    found = the_claim(made, "p-scratch")
    assert found.metadata.controller is not None
    assert found.metadata.controller.uid == owner.metadata.uid
    assert SELECTED_NODE not in found.metadata.annotations


def again(pod: Pod, uid: str = "another") -> Pod:
    """The pod as it comes again under its name."""
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid=uid))


def test_a_pod_that_comes_again_gets_an_ephemeral_claim_of_its_own() -> None:
    first = using(pod("p"), ephemeral=["scratch"])
    made = cluster(first)
    old = the_claim(made, "p-scratch")
    made.remove("Pod", first.metadata.key)
    made.put("Pod", again(first))
    made.provide_volumes()
    new = the_claim(made, "p-scratch")
    assert new.metadata.controller is not None
    assert new.metadata.controller.uid == "another"
    assert new.metadata.uid != old.metadata.uid, "else the volume of the old one would be taken for its own"


def test_claims_go_with_the_pod_that_owns_them_and_not_with_one_that_uses_them() -> None:
    owner, user = pod("p"), using(pod("q"), "data")
    made = cluster(owner, user, claim("data"), claim("own", owner=owner.metadata.uid, bound_to="v"), volume("v"))
    for each in (owner, user):
        made.remove("Pod", each.metadata.key)
    made.provide_volumes()
    assert [each.metadata.name for each in made.objects("PersistentVolumeClaim", PersistentVolumeClaim)] == ["data"]


def test_a_claim_that_something_else_owns_with_a_pod_stays() -> None:
    """As Kubernetes' garbage collector: an object goes when none of its owners is there."""
    shared = claim("data", owner="gone")
    owners = [*shared.metadata.owner_references, OwnerReference(kind="StatefulSet", name="s", uid="set")]
    meta = msgspec.structs.replace(shared.metadata, owner_references=owners)
    made = cluster(msgspec.structs.replace(shared, metadata=meta))
    assert bound(made) == ""


def test_a_claim_that_names_no_class_gets_the_default_one() -> None:
    text = f"""
kind: StorageClass
metadata: {{name: usual, annotations: {{{DEFAULT_CLASS}: "true"}}}}
provisioner: disk.csi
---
kind: PersistentVolumeClaim
metadata: {{name: without}}
---
kind: PersistentVolumeClaim
metadata: {{name: none}}
spec: {{storageClassName: ""}}
"""
    claims = {obj.metadata.name: obj for _, obj in stored(read_text(text)) if isinstance(obj, PersistentVolumeClaim)}
    assert {name: each.class_name for name, each in claims.items()} == {"without": "usual", "none": ""}
