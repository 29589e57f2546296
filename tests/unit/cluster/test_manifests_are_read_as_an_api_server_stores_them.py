"""What an API server would have filled in before the scheduler sees an object."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from volcano_py.api.devices.slices import ResourceSlice
from volcano_py.api.objects import ApiObject, Node, Pod, PodGroup, PriorityClass, Queue, metadata_of
from volcano_py.api.workloads import Workload
from volcano_py.cluster.manifests import EPOCH, ManifestError, not_simulated, read_paths, read_text, stored


def read(text: str) -> list[ApiObject]:
    return [obj for _, obj in stored(read_text(text)) if not isinstance(obj, PriorityClass)]


def one(text: str) -> Any:
    (found,) = read(text)
    return found


def test_namespaces_uids_and_times_are_filled_in() -> None:
    first, second = read("kind: Pod\nmetadata: {name: a}\n---\nkind: Pod\nmetadata: {name: b, namespace: ml}\n")
    assert isinstance(first, Pod)
    assert isinstance(second, Pod)
    assert (first.metadata.key, second.metadata.key) == ("default/a", "ml/b")
    assert first.metadata.uid
    assert first.metadata.uid != second.metadata.uid
    assert [pod.metadata.creation_timestamp for pod in (first, second)] == [EPOCH, EPOCH + timedelta(milliseconds=1)]


def test_what_is_written_is_kept() -> None:
    pod = one('kind: Pod\nmetadata: {name: a, uid: mine, creationTimestamp: "2020-01-01T00:00:00Z"}')
    assert (pod.metadata.uid, pod.metadata.creation_timestamp) == ("mine", datetime(2020, 1, 1, tzinfo=UTC))
    unquoted = one("kind: Pod\nmetadata: {name: a, creationTimestamp: 2020-01-01T00:00:00Z}")
    assert unquoted.metadata.creation_timestamp == datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("uid", ["copied", '""'])
def test_copies_of_a_stored_object_get_uids_of_their_own(uid: str) -> None:
    copies = [f"kind: Pod\nmetadata: {{name: {name}, uid: {uid}}}" for name in "abc"]
    found = read("\n---\n".join(copies))
    assert [metadata_of(pod).name for pod in found] == ["a", "b", "c"]
    uids = [metadata_of(pod).uid for pod in found]
    assert len(set(uids)) == 3
    assert all(uids)


def test_a_node_or_queue_is_of_no_namespace() -> None:
    node, queue = read(
        "kind: Node\nmetadata: {name: n, namespace: default}\n---\nkind: Queue\nmetadata: {name: q, namespace: default}"
    )
    assert isinstance(node, Node)
    assert isinstance(queue, Queue)
    assert (node.metadata.key, queue.metadata.key) == ("n", "q")


def test_fields_that_are_null_are_absent() -> None:
    pod = one("kind: Pod\nmetadata: {name: a, uid: null, labels: null}\nspec: {nodeName: null}\nstatus: null")
    assert (pod.metadata.labels, pod.spec.node_name, pod.status.phase) == ({}, "", "Pending")
    assert pod.metadata.uid


def test_a_node_offers_its_capacity_when_it_does_not_say_otherwise() -> None:
    node = one("kind: Node\nmetadata: {name: n}\nstatus: {capacity: {cpu: 4}}")
    assert node.status.allocatable == {"cpu": 4}
    node = one("kind: Node\nmetadata: {name: n}\nstatus: {capacity: {cpu: 4}, allocatable: {cpu: 3}}")
    assert node.status.allocatable == {"cpu": 3}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("null", {"kubernetes.io/hostname": "n"}),
        ("{rack: a}", {"rack": "a", "kubernetes.io/hostname": "n"}),
        ("{kubernetes.io/hostname: n.example}", {"kubernetes.io/hostname": "n.example"}),
    ],
)
def test_a_node_has_its_hostname_as_a_label_as_the_kubelet_sets_it(labels: str, expected: dict[str, str]) -> None:
    assert one(f"kind: Node\nmetadata: {{name: n, labels: {labels}}}").metadata.labels == expected


def test_the_last_of_two_namesakes_counts() -> None:
    queue = one(
        "kind: Queue\nmetadata: {name: q}\nspec: {weight: 1}\n---\nkind: Queue\nmetadata: {name: q}\nspec: {weight: 7}"
    )
    assert queue.spec.weight == 7


@pytest.mark.parametrize(
    "foreign",
    [
        "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: q}\nspec: {priority: high}",
        "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: q, namespace: default}",
        "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: q}\nspec: {template: {}}",
    ],
)
def test_kinds_of_other_apis_that_share_a_name_are_ignored(foreign: str) -> None:
    kind = foreign.partition("kind: ")[2].partition("\n")[0]
    ours = f"kind: {kind}\nmetadata: {{name: q, uid: ours}}"
    assert one(f"{ours}\n---\n{foreign}").metadata.uid == "ours"


def test_devices_are_read_in_the_version_that_a_scheduler_reads() -> None:
    slices = "kind: ResourceSlice\napiVersion: resource.k8s.io/{}\nmetadata: {{name: s, namespace: x}}"
    found = one(slices.format("v1"))
    assert (type(found), metadata_of(found).key) == (ResourceSlice, "s")
    documents = read_text(slices.format("v1beta1"))
    assert not_simulated(documents, stored(documents)) == ["1 ResourceSlice"]


def test_the_items_of_a_list_of_one_kind_are_of_that_kind() -> None:
    """As the API server answers, and so `kubectl get --raw`."""
    nodes = "{kind: NodeList, apiVersion: v1, items: [{metadata: {name: n1}}, {metadata: {name: n2}}]}"
    assert [(type(node), metadata_of(node).name) for node in read(nodes)] == [(Node, "n1"), (Node, "n2")]
    foreign = "{kind: QueueList, apiVersion: scheduling.run.ai/v2, items: [{metadata: {name: q}}]}"
    assert read(foreign) == []


def test_a_folder_within_a_folder_may_be_called_like_a_manifest(tmp_path: Path) -> None:
    inner = tmp_path / "jobs.yaml"
    inner.mkdir()
    (inner / "train.yaml").write_text("kind: PodGroup\nmetadata: {name: train}\n")
    assert [document.body["kind"] for document in read_paths([tmp_path])] == ["PodGroup"]


def test_json_is_read_as_json_not_as_yaml() -> None:
    """As YAML it takes eighty times as long; `1e3` says which it was."""
    (document,) = read_text('{"kind": "List", "items": [{"kind": "Node", "odd": 1e3}]}')
    assert document.body == {"kind": "Node", "odd": 1000.0}


@pytest.mark.parametrize(
    "text", ["{kind: Node}", "{kind: Node}\n---\n{}", '{"kind": "Node"}\n---\n', '{"kind": "Node",}']
)
def test_what_only_begins_like_json_is_yaml(text: str) -> None:
    assert read_text(text)[0].body == {"kind": "Node"}


def test_the_items_of_a_list_say_what_they_are_themselves() -> None:
    mixed = "{kind: List, apiVersion: v1, items: [{kind: Node, metadata: {name: n}}, {kind: Pod, metadata: {name: p}}]}"
    assert [type(obj) for obj in read(mixed)] == [Node, Pod]


@pytest.mark.parametrize(("items", "found"), [("[{kind: Node, metadata: {name: n}}, n2]", "str"), ("[[]]", "list")])
def test_an_item_of_a_list_that_is_not_an_object_is_reported(items: str, found: str) -> None:
    with pytest.raises(ManifestError, match=rf"^manifest, document 1: items\[\d\] is a {found}, expected an object$"):
        read_text(f"{{kind: List, items: {items}}}")


CLASSES = """
kind: PriorityClass
metadata: {name: high}
value: 1000
preemptionPolicy: Never
---
kind: PriorityClass
metadata: {name: usual}
value: 10
globalDefault: true
---
"""


@pytest.mark.parametrize(
    ("classes", "spec", "priority"),
    [
        pytest.param("", "{}", 0, id="no classes"),
        pytest.param(CLASSES, "{priorityClassName: high}", 1000, id="named"),
        pytest.param(CLASSES, "{}", 10, id="the global default"),
        pytest.param(CLASSES, "{priority: 7}", 7, id="written"),
        pytest.param("", "{priorityClassName: system-node-critical}", 2_000_001_000, id="system-node-critical"),
        pytest.param("", "{priorityClassName: system-cluster-critical}", 2_000_000_000, id="system-cluster-critical"),
    ],
)
def test_the_priority_of_a_pod_is_that_of_its_class(classes: str, spec: str, priority: int) -> None:
    assert one(f"{classes}kind: Pod\nmetadata: {{name: a}}\nspec: {spec}").spec.priority == priority


def test_a_pod_that_names_no_scheduler_is_the_default_schedulers() -> None:
    assert one("kind: Pod\nmetadata: {name: p}").spec.scheduler_name == "default-scheduler"
    assert one("kind: Pod\nmetadata: {name: p}\nspec: {schedulerName: mine}").spec.scheduler_name == "mine"


def test_the_class_says_whether_a_pod_preempts() -> None:
    pod = one(f"{CLASSES}kind: Pod\nmetadata: {{name: a}}\nspec: {{priorityClassName: high}}")
    assert pod.spec.preemption_policy == "Never"


def test_every_cluster_has_the_system_priority_classes() -> None:
    found = {obj.metadata.name: obj.value for _, obj in stored([]) if isinstance(obj, PriorityClass)}
    assert found == {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def test_on_the_hosts_network_every_port_is_a_host_port() -> None:
    spec = "containers: [{name: c, ports: [{containerPort: 80}]}]"
    assert one(f"kind: Pod\nmetadata: {{name: a}}\nspec: {{{spec}}}").spec.containers[0].ports[0].host_port == 0
    on_host = one(f"kind: Pod\nmetadata: {{name: a}}\nspec: {{hostNetwork: true, {spec}}}")
    assert on_host.spec.containers[0].ports[0].host_port == 80


def test_on_the_hosts_network_the_ports_of_sidecars_are_host_ports_too() -> None:
    sidecar = "initContainers: [{name: s, restartPolicy: Always, ports: [{containerPort: 81}]}]"
    pod = one(f"kind: Pod\nmetadata: {{name: a}}\nspec: {{hostNetwork: true, containers: [{{name: c}}], {sidecar}}}")
    assert pod.spec.init_containers[0].ports[0].host_port == 81


def test_numbers_in_quotes_are_numbers() -> None:
    group = one('kind: PodGroup\nmetadata: {name: g}\nspec: {minMember: "3"}')
    assert isinstance(group, PodGroup)
    assert group.spec.min_member == 3


def test_owners_of_pods_are_read_as_far_as_they_matter() -> None:
    owner = one("kind: ReplicaSet\nmetadata: {name: r, annotations: {a: b}}\nspec: {replicas: 3, template: {x: y}}")
    assert isinstance(owner, Workload)
    assert (owner.kind, owner.spec.replicas, owner.metadata.annotations) == ("ReplicaSet", 3, {"a": "b"})


CONSTRAINTS = "[{}, {labelSelector: {matchLabels: {x: 1}}}]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "kind: Pod\nmetadata: {name: a, labels: {app: web, version: 1.5}}",
            "metadata.labels[version] is 1.5, expected text: put it in quotes",
        ),
        (
            "kind: PodGroup\nmetadata: {name: a, annotations: {volcano.sh/preemptable: true}}",
            "metadata.annotations[volcano.sh/preemptable] is true, expected text: put it in quotes",
        ),
        (
            "kind: Pod\nmetadata: {name: a}\nspec: {nodeSelector: {gpu: yes}}",
            "spec.nodeSelector[gpu] is true, expected text: put it in quotes",
        ),
        (
            f"kind: Pod\nmetadata: {{name: a}}\nspec: {{topologySpreadConstraints: {CONSTRAINTS}}}",
            "spec.topologySpreadConstraints[1].labelSelector.matchLabels[x] is 1, expected text: put it in quotes",
        ),
        ("kind: Pod\nmetadata: {name: a}\nspec: {nodeName: 7}", "Expected `str`, got `int` - at `$.spec.nodeName`"),
        ("kind: Pod\nmetadata: {generateName: a-}", "metadata.name is missing"),
        ("kind: Pod", "metadata.name is missing"),
        ('kind: Pod\nmetadata: {name: ""}', "metadata.name is missing"),
    ],
)
def test_what_an_api_server_would_refuse_is_refused(text: str, said: str) -> None:
    with pytest.raises(ManifestError) as error:
        read(text)
    assert said in str(error.value)


ENORMOUS = 10**30


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, ENORMOUS])
@pytest.mark.parametrize(
    ("manifest", "field"),
    [
        pytest.param("kind: Pod\nmetadata: {name: a}\nspec: {priority: NUMBER}", "spec.priority", id="priority"),
        pytest.param(
            "kind: Pod\nmetadata: {name: a}\nspec: {topologySpreadConstraints: [{maxSkew: NUMBER}]}",
            "maxSkew",
            id="a constraint",
        ),
        pytest.param("kind: PodGroup\nmetadata: {name: a}\nspec: {minMember: NUMBER}", "spec.minMember", id="a gang"),
        pytest.param(
            "kind: Node\nmetadata: {name: a}\nstatus: {images: [{sizeBytes: NUMBER}]}", "sizeBytes", id="an image"
        ),
    ],
)
def test_a_number_that_no_field_can_hold_is_refused_by_its_path(manifest: str, field: str, number: int) -> None:
    with pytest.raises(ManifestError, match=rf"(?s)^manifest, document 1.* a\).*{field}"):
        read(manifest.replace("NUMBER", str(number)))


def test_an_enormous_quantity_is_one_whether_it_is_in_quotes_or_not() -> None:
    text = "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, resources: {requests: {cpu: NUMBER}}}]}"
    bare, in_quotes = (one(text.replace("NUMBER", number)) for number in (str(ENORMOUS), f'"{ENORMOUS}"'))
    assert bare == in_quotes
