"""Each change, in what it leaves behind and in what it refuses."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.support.placement.devices import resource_slice
from tests.support.placement.numa import places, topology
from tests.support.sessions import node
from tests.unit.what_if.clusters import NEW_JOB, captured, documents
from volcano_py.api.devices.slices import ResourceSlice
from volcano_py.api.numa.cpu_lists import write_cpus
from volcano_py.api.numa.topologies import NUMATOPOLOGY, Numatopology
from volcano_py.api.objects import Node, OwnerReference, Pod, PriorityClass, Queue, metadata_of
from volcano_py.api.volumes import CSINode
from volcano_py.cluster.manifests import Stored
from volcano_py.state.numa.info import read_topology
from volcano_py.what_if.changes import (
    AddNodes,
    Change,
    ChangeError,
    Cordon,
    Delete,
    RemoveNode,
    SetField,
    Submit,
    applied,
)

ITEMS = list(captured().items)
NOW = 2e9


def keys(items: list[Stored], kind: str) -> list[str]:
    return [metadata_of(obj).key for of, obj in items if of == kind]


def owned(owner: OwnerReference) -> list[Stored]:
    """The cluster with the first pod, and its PodGroup, owned by this."""
    return [
        (kind, replace(obj, metadata=replace(metadata_of(obj), owner_references=[owner])))
        if metadata_of(obj).name in ("old", "old-0")
        else (kind, obj)
        for kind, obj in ITEMS
    ]


def test_new_nodes_are_like_the_one_that_is_named_but_empty_ready_and_open() -> None:
    changed = AddNodes("gpu-1=2").apply([*ITEMS, ("CSINode", CSINode(metadata=node("gpu-1").metadata))], NOW)

    assert keys(changed, "Node") == ["gpu-1", "gpu-2", "gpu-1-new-1", "gpu-1-new-2"]
    assert keys(changed, "CSINode") == ["gpu-1", "gpu-1-new-1", "gpu-1-new-2"]
    new = [obj for _, obj in changed if isinstance(obj, Node)][2]
    assert new.metadata.labels == {"kubernetes.io/hostname": "gpu-1-new-1", "pool": "a"}
    assert [taint.key for taint in new.spec.taints] == ["pool"]
    assert new.metadata.created == NOW


def test_new_nodes_have_the_devices_of_the_one_that_is_named_in_complete_pools() -> None:
    slices = [resource_slice(name, "gpu-0", on=name, count=1) for name in ("gpu-1", "gpu-2")]
    slices.append(resource_slice("half", "nic-0", on="gpu-1", pool="nics", driver="nic.example.com", count=2))
    slices.append(resource_slice("old", "gpu-9", on="gpu-1", generation=0))
    items = [*ITEMS, *(("ResourceSlice", each) for each in slices)]
    added = [obj for _, obj in AddNodes("gpu-1=1").apply(items, NOW)[len(items) :] if isinstance(obj, ResourceSlice)]
    assert [(each.spec.node_name, each.spec.pool.name, each.spec.pool.resource_slice_count) for each in added] == [
        ("gpu-1-new-1", "gpu-1-gpu-1-new-1", 1),
        ("gpu-1-new-1", "nics-gpu-1-new-1", 1),
    ]
    assert keys(RemoveNode("gpu-1").apply(items, NOW), "ResourceSlice") == ["gpu-2"]


def test_new_nodes_have_the_cpus_of_the_one_that_is_named_all_of_them_free() -> None:
    items = [*ITEMS, (NUMATOPOLOGY, topology("gpu-1", places(2, 2), "3", shown={"old-0": "0-2"}))]
    changed = AddNodes("gpu-1=1").apply(items, NOW)
    new = [obj for _, obj in changed if isinstance(obj, Numatopology)][1]
    info = read_topology(new)
    assert (info.ref.name, write_cpus(info.free), info.shown) == ("gpu-1-new-1", "0-3", ())
    assert keys(RemoveNode("gpu-1").apply(items, NOW), NUMATOPOLOGY) == []


def test_cpus_of_pods_that_are_deleted_are_free() -> None:
    items = [*ITEMS, (NUMATOPOLOGY, topology("gpu-1", places(2, 2), "3", shown={"old-0": "0-1", "other": "2"}))]
    (made,) = [obj for _, obj in Delete("pod/team/old-0").apply(items, NOW) if isinstance(obj, Numatopology)]
    assert write_cpus(read_topology(made).free) == "0-1,3"


def test_new_nodes_get_names_that_are_free() -> None:
    changed = AddNodes("gpu-1=1").apply(AddNodes("gpu-1=1").apply(ITEMS, NOW), NOW)

    assert keys(changed, "Node")[2:] == ["gpu-1-new-1", "gpu-1-new-2"]


def test_a_node_goes_with_its_pods() -> None:
    changed = RemoveNode("gpu-1").apply(ITEMS, NOW)

    assert keys(changed, "Node") == ["gpu-2"]
    assert "team/old-0" not in keys(changed, "Pod")


@pytest.mark.parametrize(
    ("kind", "comes_back"), [("ReplicaSet", True), ("DaemonSet", False)], ids=["ReplicaSet", "DaemonSet"]
)
def test_pods_of_a_removed_node_wait_again_if_their_controller_creates_them_elsewhere(
    kind: str, comes_back: bool
) -> None:
    owner = OwnerReference(kind=kind, name="w", uid="w", controller=True)

    pods = [obj for _, obj in RemoveNode("gpu-1").apply(owned(owner), NOW) if isinstance(obj, Pod)]

    again = [pod for pod in pods if pod.metadata.name == "old-0"]
    assert [(pod.spec.node_name, pod.status.phase) for pod in again] == ([("", "Pending")] if comes_back else [])


def test_a_cordoned_node_is_unschedulable() -> None:
    nodes = {obj.metadata.name: obj for _, obj in Cordon("gpu-2").apply(ITEMS, NOW) if isinstance(obj, Node)}

    assert [nodes[name].spec.unschedulable for name in ("gpu-1", "gpu-2")] == [False, True]


@pytest.mark.parametrize("kind", ["queue", "q", "Queues", "queue.scheduling.volcano.sh"])
def test_names_with_dots_and_short_words_for_kinds_are_understood(kind: str) -> None:
    changed = SetField(f"{kind}/web.front.spec.weight=7").apply(ITEMS, NOW)

    assert {obj.metadata.name: obj.spec.weight for _, obj in changed if isinstance(obj, Queue)} == {
        "research": 1,
        "web.front": 7,
    }


def test_a_pod_group_goes_with_its_pods() -> None:
    changed = Delete("podgroup/old").apply(ITEMS, NOW)

    assert keys(changed, "PodGroup") == ["team/train"]
    assert keys(changed, "Pod") == ["team/train-0", "team/train-1"]


def test_a_pod_group_goes_with_the_owner_that_would_create_it_again() -> None:
    job = replace(node("w"), metadata=replace(node("w").metadata, uid="w"))
    items: list[Stored] = [*owned(OwnerReference(kind="Job", name="w", uid="w", controller=True)), ("VolcanoJob", job)]

    changed = Delete("pg/team/old").apply(items, NOW)

    assert keys(changed, "VolcanoJob") == []
    assert "team/old-0" not in keys(changed, "Pod")


def test_submitted_objects_are_created_now_with_the_priority_of_the_clusters_classes() -> None:
    high: Stored = ("PriorityClass", PriorityClass(metadata=node("high").metadata, value=9))

    changed = Submit(documents(NEW_JOB.replace("CPU", "1"))).apply([*ITEMS, high], NOW)

    (new,) = [obj for _, obj in changed if isinstance(obj, Pod) and obj.metadata.name == "extra-0"]
    assert (new.spec.priority, new.metadata.created) == (9, NOW)


def test_a_submitted_object_replaces_its_namesake() -> None:
    again = Submit(documents("kind: Queue\nmetadata: {name: research}\nspec: {weight: 5}\n")).apply(ITEMS, NOW)

    assert [obj.spec.weight for _, obj in again if isinstance(obj, Queue) and obj.metadata.name == "research"] == [5]


def test_changes_build_on_each_other() -> None:
    changed = applied([AddNodes("gpu-2=1"), Cordon("gpu-2-new-1"), Delete("node/gpu-1")], ITEMS, NOW)

    assert keys(changed, "Node") == ["gpu-2", "gpu-2-new-1"]


@pytest.mark.parametrize("word", ["node", "nodes", "no"])
def test_a_kind_may_be_written_as_kubectl_has_it(word: str) -> None:
    assert keys(applied([Delete(f"{word}/gpu-1")], ITEMS, NOW), "Node") == ["gpu-2"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (AddNodes("gpu-1"), "--add-nodes gpu-1: write a node and how many more like it, 1 to 10000, such as gpu-1=3"),
        (AddNodes("gpu-1=0"), "--add-nodes gpu-1=0: write a node and how many more like it, "),
        (AddNodes("gpu-9=1"), "--add-nodes gpu-9=1: there is no node gpu-9 in the cluster; it has gpu-1, gpu-2"),
        (RemoveNode("gpu-9"), "--remove-node gpu-9: there is no node gpu-9 in the cluster"),
        (Cordon("gpu-9"), "--cordon gpu-9: there is no node gpu-9 in the cluster"),
        (Delete("old"), "--delete old: 'old' is not KIND/NAME or KIND/NAMESPACE/NAME, such as podgroup/team/train"),
        (Delete("tea/old"), "--delete tea/old: tea is not a kind that the scheduler reads; known: csidriver, "),
        (Delete("statefulset/x"), "--delete statefulset/x: there is no statefulset x in the cluster; it has none of "),
        (SetField("queue/research.spec.weight"), "--set queue/research.spec.weight: write KIND/NAME.FIELD=VALUE, "),
        (SetField("queue/research=1"), "--set queue/research=1: queue/research names no field; write for example "),
        (SetField("queue/none.spec.weight=1"), "--set queue/none.spec.weight=1: there is no queue none in the "),
        (
            SetField("queue/research.weight=1"),
            "--set queue/research.weight=1: weight does not begin with a known field; use one of: ",
        ),
        (SetField("queue/research.metadata.name=x"), "--set queue/research.metadata.name=x: of the metadata only "),
        (
            Submit(documents("kind: Deployment\nmetadata: {name: web}\n")),
            "--submit new.yaml: 1 Deployment is not simulated; submit pods and PodGroups, or a Volcano Job",
        ),
        (
            Submit(documents("apiVersion: batch/v1\nkind: Job\nmetadata: {name: sweep}\nspec: {parallelism: 4}\n")),
            "--submit new.yaml: 1 Job (batch/v1) is not simulated; submit pods and PodGroups, or a Volcano Job",
        ),
        (Submit(documents("kind: Pod\nmetadata: {}\n")), "--submit: new.yaml, document 1 (Pod ?): metadata.name is "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_change_that_cannot_be_made_is_named_with_what_is_there(change: Change, message: str) -> None:
    with pytest.raises(ChangeError) as refused:
        change.apply(ITEMS, NOW)

    assert str(refused.value).startswith(message)


def test_a_name_that_several_namespaces_have_is_not_guessed() -> None:
    namesake = next(obj for kind, obj in ITEMS if kind == "PodGroup")
    other = replace(namesake, metadata=replace(metadata_of(namesake), namespace="lab", uid="other"))

    with pytest.raises(ChangeError, match="podgroup old is in several namespaces: name one of lab/old, team/old"):
        Delete("podgroup/old").apply([*ITEMS, ("PodGroup", other)], NOW)
