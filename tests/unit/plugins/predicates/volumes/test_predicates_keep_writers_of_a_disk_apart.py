"""Pods that name one disk in their volumes share no node, unless all of them only read it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.placement.node_answers import answers, class_of, willing
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.api.objects import Pod, Volume
from volcano_py.framework.plugin import Reach
from volcano_py.plugins.predicates import Predicates

Disk = dict[str, dict[str, Any]]
"""The source of a volume, as manifests have it."""

NO_DISK = "node(s) had no available disk"


def google(name: str = "data", *, reading: bool = False) -> Disk:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": reading}}


def amazon(name: str = "data", *, reading: bool = False) -> Disk:
    return {"awsElasticBlockStore": {"volumeID": name, "readOnly": reading}}


def iscsi(name: str = "data", *, portal: str = "10.0.0.1", reading: bool = False) -> Disk:
    return {"iscsi": {"targetPortal": portal, "iqn": name, "lun": 0, "readOnly": reading}}


def ceph(*monitors: str, image: str = "data", pool: str = "", reading: bool = False) -> Disk:
    of_pool = {"pool": pool} if pool else {}
    return {"rbd": {"monitors": monitors or ("m1",), "image": image, "readOnly": reading, **of_pool}}


def mounting(name: str, *disks: Disk, on: str = "", group: str = "g") -> Pod:
    made = pod(name, group=group, cpu="1", on=on)
    volumes = [msgspec.convert({"name": f"d{number}", **disk}, type=Volume) for number, disk in enumerate(disks)]
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, volumes=volumes))


def session(*pods: Pod, enabled: bool = True) -> Opened:
    entry = {"arguments": {"predicate.VolumeBindingEnable": enabled}}
    return open_session(node("n1"), node("n2"), pod_group("g"), pods, tiers=[[(Predicates, entry)]])


@pytest.mark.parametrize(
    ("wanted", "there", "conflict"),
    [
        pytest.param(google(), google(), True, id="both write"),
        pytest.param(google(reading=True), google(), True, id="one reads what is written"),
        pytest.param(google(), google(reading=True), True, id="one writes what is read"),
        pytest.param(google(reading=True), google(reading=True), False, id="both read"),
        pytest.param(google(), google("other"), False, id="another disk"),
        pytest.param(google(), amazon(), False, id="another kind with the same name"),
        pytest.param(amazon(), amazon(), True, id="amazon, both write"),
        pytest.param(amazon(reading=True), amazon(reading=True), True, id="amazon, both read"),
        pytest.param(iscsi(), iscsi(portal="10.0.0.2"), True, id="iscsi goes by the name alone"),
        pytest.param(iscsi(reading=True), iscsi(reading=True), False, id="iscsi, both read"),
        pytest.param(ceph("m1", "m2"), ceph("m2", "m3"), True, id="ceph with a monitor in common"),
        pytest.param(ceph("m1"), ceph("m2"), False, id="ceph with no monitor in common"),
        pytest.param(ceph(), ceph(pool="rbd"), True, id="ceph's pool is rbd unless it says so"),
        pytest.param(ceph(), ceph(pool="other"), False, id="ceph, another pool"),
        pytest.param(ceph(), ceph(image="other"), False, id="ceph, another image"),
        pytest.param(ceph(reading=True), ceph(reading=True), False, id="ceph, both read"),
    ],
)
def test_disks_conflict_by_name_and_write_access(wanted: Disk, there: Disk, conflict: bool) -> None:
    opened = session(mounting("old", there, on="n1"), mounting("new", wanted))
    assert answers(opened, Predicates, "new") == {"n1": NO_DISK if conflict else "", "n2": ""}


def test_pods_of_others_count() -> None:
    opened = session(mounting("stranger", iscsi(), on="n1", group=""), mounting("new", iscsi()))
    assert willing(opened, Predicates, "new") == ["n2"]


def test_an_eviction_can_help_against_a_disk_in_use_and_the_disk_is_in_use_until_it_is_done() -> None:
    opened = session(mounting("old", iscsi(), on="n1"), mounting("new", iscsi()))
    row = opened.node_row("n1")
    assert not opened.ssn.placer.may_take(class_of(opened, "new"), row)
    opened.evict("old")
    assert opened.ssn.placer.may_take(class_of(opened, "new"), row)
    assert willing(opened, Predicates, "new") == ["n2"]


def test_a_gang_that_writes_one_disk_goes_one_to_a_node_and_one_that_reads_goes_anywhere() -> None:
    writers = session(*(mounting(f"p{number}", iscsi()) for number in range(3)))
    assert len(writers.ssn.placer.choose(class_of(writers, "p0"), 3).nodes) == 2
    readers = session(*(mounting(f"p{number}", iscsi(reading=True)) for number in range(3)))
    assert len(readers.ssn.placer.choose(class_of(readers, "p0"), 3).nodes) == 3


def test_a_pod_does_not_stand_in_its_own_way() -> None:
    twice = mounting("p", iscsi(), iscsi(reading=True))
    assert willing(session(twice), Predicates, "p") == ["n1", "n2"]


def test_only_pods_with_disks_are_looked_at_again_after_each_placement() -> None:
    opened = session(mounting("with", iscsi()), mounting("without"))
    reach = opened.plugin(Predicates).predicate_reach
    assert (reach(class_of(opened, "with")), reach(class_of(opened, "without"))) == (Reach.ROW, Reach.STATIC)


def test_disks_are_not_looked_at_when_volume_binding_is_off() -> None:
    opened = session(mounting("old", iscsi(), on="n1"), mounting("new", iscsi()), enabled=False)
    assert willing(opened, Predicates, "new") == ["n1", "n2"]
    assert opened.plugin(Predicates).predicate_reach(class_of(opened, "new")) is Reach.STATIC


def test_the_pod_that_uses_the_disk_is_reported() -> None:
    old = [mounting("old-1", ceph("m1", "m2"), on="n1"), mounting("old-2", ceph("m1"), on="n2")]
    opened = session(*old, mounting("new", ceph("m2", "m1"), google()))
    message = opened.ssn.placer.misfit(class_of(opened, "new")).refusal.message
    assert message == (
        f"0/2 nodes are unavailable: 2 {NO_DISK}. Disk rbd/data (rbd) is in use by team/old-1 on n1, team/old-2 on n2: "
        "wait for that to end, or add nodes."
    )
