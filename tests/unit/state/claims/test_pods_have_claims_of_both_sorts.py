"""A pod with claims to volumes and to devices: either sort moves it to another class, and one fails with the other."""

from __future__ import annotations

from tests.support.placement.devices import allocated, device_binding, device_claim, device_class, with_claims
from tests.support.placement.volumes import LOCAL, claim, storage_class, using, volume
from tests.support.sessions import NAMESPACE, node, pod, pod_group
from tests.unit.state.watched import Watched
from volcano_py.api.effects import ClaimBinding, ObjectRef
from volcano_py.api.objects import Pod
from volcano_py.state.claims.claimants import Claimants
from volcano_py.state.devices.needs import GivenDevices, OpenDevices
from volcano_py.state.table.change import Change
from volcano_py.state.volumes.needs import BoundNeed, OpenNeed

VOLUME = ClaimBinding(ObjectRef("PersistentVolumeClaim", NAMESPACE, "data", "claim-data"), "v")
DEVICE = device_binding("gpu", allocated(("n1", "d0"), node="n1"))


def mine(name: str) -> Pod:
    return with_claims(using(pod(name, group="g", cpu="1"), "data"), "gpu")


def watching() -> Watched:
    return Watched(
        node("n1"),
        pod_group("g"),
        [storage_class(LOCAL), claim("data"), volume("v"), device_class(), device_claim("gpu"), mine("p")],
    )


def uid(name: str) -> str:
    return pod(name).metadata.uid


def test_changes_of_either_sort_move_the_pod() -> None:
    watched = watching()
    found = watched.class_of("p")
    assert (type(found.volumes[0]), type(found.devices[0])) == (OpenNeed, OpenDevices)
    watched.put(device_claim("gpu", allocation=DEVICE.allocation))
    found = watched.class_of("p")
    assert (type(found.volumes[0]), type(found.devices[0])) == (OpenNeed, GivenDevices)
    watched.put(claim("data", bound_to="v"))
    found = watched.class_of("p")
    assert (type(found.volumes[0]), type(found.devices[0])) == (BoundNeed, GivenDevices)
    assert watched.reported() == [Change.DECISION, Change.DECISION]
    assert watched.state.drift() == 0


def test_a_pod_gets_all_of_its_claims_or_none() -> None:
    watched = watching()
    taken = device_claim("other", allocation=DEVICE.allocation)
    watched.put(taken)
    assert not watched.state.assume_bound(uid("p"), "n1", [VOLUME], [DEVICE])
    found = watched.class_of("p")
    assert (type(found.volumes[0]), type(found.devices[0])) == (OpenNeed, OpenDevices)
    watched.delete(taken)
    assert watched.state.assume_bound(uid("p"), "n1", [VOLUME], [DEVICE])
    volumes, devices = watched.class_of("p").volumes, watched.class_of("p").devices
    assert isinstance(volumes[0], OpenNeed)
    assert (volumes[0].reserved, type(devices[0])) == ("v", GivenDevices)
    watched.state.bind_failed(uid("p"), retry_at=0.0)
    assert type(watched.class_of("p").devices[0]) is OpenDevices


def test_claims_of_the_two_sorts_may_have_the_same_name() -> None:
    claims = Claimants()
    assert claims.put(1, pod("a"), ("team/x",)) == frozenset()
    assert claims.put(2, pod("b"), ("team/x",)) == {1}
    assert claims.is_shared("team/x")
    watched = watching()
    watched.put(with_claims(pod("q", group="g", cpu="1"), "data"), device_claim("data"))
    found = watched.class_of("p").volumes[0]
    assert isinstance(found, OpenNeed)
    assert found.claim == ""


def test_rows_without_claims_are_not_kept() -> None:
    claims = Claimants()
    assert claims.put(1, pod("a"), ()) == frozenset()
    assert not claims
    claims.put(1, pod("a"), ("team/x",))
    assert claims.take(1) == frozenset()
    assert not claims
