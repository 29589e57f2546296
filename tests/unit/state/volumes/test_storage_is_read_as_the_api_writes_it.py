"""Objects of the storage APIs as an API server sends them, and what is read off them."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.placement.volumes import claim, storage_class, using, volume
from tests.support.sessions import pod, pod_group
from tests.unit.state.watched import Watched
from volcano_py.api.volumes import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from volcano_py.state.volumes.needs import OpenNeed
from volcano_py.state.volumes.storage import Capacity, read_capacity, read_claim, read_limits, read_volume

CLAIM = b"""{"metadata": {"name": "data", "namespace": "team", "uid": "u1", "resourceVersion": "7",
"annotations": {"volume.kubernetes.io/selected-node": "n1", "volume.kubernetes.io/storage-provisioner": "d"},
"ownerReferences": [{"kind": "Pod", "name": "p", "uid": "u2", "controller": true, "blockOwnerDeletion": true}],
"finalizers": ["kubernetes.io/pvc-protection"]}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests":
{"storage": "1500M"}}, "storageClassName": "fast", "volumeMode": "Block"}, "status": {"phase": "Pending"}}"""

VOLUME = b"""{"metadata": {"name": "pv", "uid": "u3", "labels": {"topology.kubernetes.io/zone": "b__a"}},
"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"], "csi": {"driver": "d",
"volumeHandle": "h", "volumeAttributes": {"a": "b"}}, "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "team",
"name": "data", "uid": "u1", "apiVersion": "v1", "resourceVersion": "3"}, "storageClassName": "fast",
"persistentVolumeReclaimPolicy": "Delete", "volumeMode": "Filesystem"}, "status": {"phase": "Bound"}}"""


def test_a_claim() -> None:
    read = read_claim(msgspec.json.decode(CLAIM, type=PersistentVolumeClaim))
    assert (read.key, read.uid, read.owner) == ("team/data", "u1", "u2")
    assert (read.storage_class, read.size, read.volume_mode) == ("fast", 1_500_000_000, "Block")
    assert (read.selected_node, read.volume, read.is_bound, read.is_lost) == ("n1", "", False, False)


def test_a_volume() -> None:
    read = read_volume(msgspec.json.decode(VOLUME, type=PersistentVolume))
    assert (read.size, read.access_modes) == (2**30, ("ReadWriteMany", "ReadWriteOnce"))
    assert (read.claim, read.claim_uid, read.is_free) == ("team/data", "u1", False)
    assert (read.driver, read.zones) == ("d", (("topology.kubernetes.io/zone", ("a", "b")),))


def test_a_class_by_its_old_annotation() -> None:
    marked = b'{"metadata": {"name": "x", "annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}}'
    assert read_claim(msgspec.json.decode(marked, type=PersistentVolumeClaim)).storage_class == "old"
    assert read_volume(msgspec.json.decode(marked, type=PersistentVolume)).storage_class == "old"


def test_a_storage_class() -> None:
    text = b"""{"metadata": {"name": "fast"}, "provisioner": "d", "volumeBindingMode": "WaitForFirstConsumer",
    "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}], "parameters": {"t": "x"}}"""
    read = msgspec.json.decode(text, type=StorageClass)
    assert (read.waits, read.provisions) == (True, True)
    assert read.allowed_topologies[0].match_label_expressions[0].values == ["a"]
    bare = msgspec.json.decode(
        b'{"metadata": {"name": "x"}, "provisioner": "kubernetes.io/no-provisioner"}', type=StorageClass
    )
    assert (bare.waits, bare.provisions) == (False, False)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(b'{"drivers": null}', {}, id="no drivers"),
        pytest.param(b'{"drivers": [{"name": "d", "nodeID": "n", "topologyKeys": null}]}', {}, id="no limit"),
        pytest.param(
            b'{"drivers": [{"name": "d", "nodeID": "n", "topologyKeys": ["z"], "allocatable": {"count": 25}}]}',
            {"d": 25},
            id="a limit",
        ),
    ],
)
def test_the_drivers_of_a_node(spec: bytes, expected: dict[str, int]) -> None:
    body = b'{"metadata": {"name": "n1"}, "spec": ' + spec + b"}"
    assert read_limits(msgspec.json.decode(body, type=CSINode)) == expected


def test_a_driver_reports_its_room_only_if_it_says_so() -> None:
    says = msgspec.json.decode(b'{"metadata": {"name": "d"}, "spec": {"storageCapacity": true}}', type=CSIDriver)
    silent = msgspec.json.decode(b'{"metadata": {"name": "d"}, "spec": {"attachRequired": false}}', type=CSIDriver)
    assert (says.spec.storage_capacity, silent.spec.storage_capacity) == (True, False)


def test_room_of_a_class() -> None:
    text = b"""{"metadata": {"name": "c", "namespace": "s"}, "storageClassName": "fast", "capacity": "10Gi",
    "maximumVolumeSize": "4Gi", "nodeTopology": {"matchLabels": {"zone": "a"}}}"""
    read = read_capacity(msgspec.json.decode(text, type=CSIStorageCapacity))
    assert isinstance(read, Capacity)
    assert (read.storage_class, read.largest, read.topology.match_labels) == ("fast", 4 * 2**30, {"zone": "a"})


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        pytest.param("9E", 9 * 10**18, id="nine exabytes"),
        pytest.param("1e400", 2**63 - 1, id="beyond counting"),
        pytest.param("-1", 0, id="negative"),
        pytest.param("lots", 0, id="no quantity"),
        pytest.param("1500m", 2, id="a fraction is rounded up"),
    ],
)
def test_absurd_sizes_affect_nothing_else(size: str, expected: int) -> None:
    watched = Watched(pod_group("g"), storage_class("local"), claim("data", size=size), volume("v", size=size))
    watched.put(using(pod("p", group="g", cpu="1"), "data"), pod("other", group="g", cpu="1"))
    (need,) = watched.class_of("p").volumes
    assert isinstance(need, OpenNeed)
    assert need.size == expected
    assert watched.pods() == {"p", "other"}
