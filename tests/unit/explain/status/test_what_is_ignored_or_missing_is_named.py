"""An explanation repeats what the events say of annotations and labels that cannot be read, and has hints about what
else the user of a workload may not expect."""

from __future__ import annotations

import pytest

from tests.unit.explain.causes import DEFAULT, TREE, explained, gang, node, queue, volcano_job, world_of
from volcano_py.api.names import GROUP_MIN_MEMBER as MIN_MEMBER
from volcano_py.api.names import GROUP_NAME, QUEUE_NAME
from volcano_py.cli.explaining.drawing import drawn
from volcano_py.explain.of_node import explain_node
from volcano_py.explain.of_queue import explain_queue
from volcano_py.explain.of_workload import explain_workload

PRIORITY = "annotation volcano.sh/task-priority is '1e999': write a whole number, such as 100"
ESTIMATE = "annotation volcano.sh/running-estimate is 'long': write a duration above 0, such as 45m"
ABSENT = "until then it counts as absent"

RUNNING = gang(2, group="queue: team-a", pod="nodeName: n1")
MISSING = (
    "QueueNotFound: queue team-a does not exist: create it, or name an existing one in spec.queue of the PodGroup. "
    "Running pods keep their places, and no other pod starts"
)


def odd(cluster: str) -> str:
    """The cluster of a gang whose PodGroup and pods have one such value each."""
    cluster = cluster.replace("group-name: train", 'group-name: train, volcano.sh/task-priority: "1e999"')
    return cluster.replace("{name: train}", "{name: train, annotations: {volcano.sh/running-estimate: long}}")


def test_of_a_workload_that_waits_and_of_one_that_runs() -> None:
    for cpu in ("64", "1"):
        explanation = explain_workload(world_of(node() + odd(gang(5, cpu))), "podgroup", "default/train")
        assert (explanation.now.state == "Waiting") is (cpu == "64")
        assert explanation.now.ignored == (
            f"PodGroup default/train: {ESTIMATE}; {ABSENT}",
            f"pods train-0, train-1, train-2 and 2 more: {PRIORITY}; {ABSENT}",
        )
        assert "Ignored" in list(drawn(explanation))


def test_of_min_resources_that_do_not_exist() -> None:
    explanation = explained(node() + gang(group="minResources: {cpus: 2}"))
    (ignored,) = explanation.now.ignored
    assert ignored.startswith(
        "PodGroup default/train: spec.minResources.cpus is '2': correct the name, which no resource"
    )


def test_a_gang_of_which_each_pod_says_something_else_is_not_listed_whole() -> None:
    cluster = odd(gang(30, "64"))
    for number in range(30):
        cluster = cluster.replace("1e999", f"v{number}", 1)
    ignored = explain_workload(world_of(node() + cluster), "podgroup", "default/train").now.ignored
    assert len(ignored) == 12
    assert ignored[-1] == "20 more values of pods"


def test_nothing_is_said_where_everything_can_be_read() -> None:
    explanation = explain_workload(world_of(node() + gang(2, "64")), "pod", "default/train-0")
    assert explanation.now.ignored == ()
    assert "Ignored" not in list(drawn(explanation))


def test_of_a_node() -> None:
    labelled = node().replace("zone: a", "volcano.sh/oversubscription: 'yes'")
    explanation = explain_node(world_of(labelled), "n1")
    assert explanation.ignored == (
        "label volcano.sh/oversubscription is 'yes': write true or false; until then it counts as false",
    )
    assert "Ignored" in list(drawn(explanation))
    assert "Ignored" not in list(drawn(explain_node(world_of(node()), "n1")))


def test_a_workload_that_runs_in_a_queue_that_does_not_exist() -> None:
    explanation = explained(node() + queue("team-b") + RUNNING)
    assert (explanation.now.state, explanation.now.reason, explanation.now.hints) == ("Running", "", (MISSING,))
    assert "Hints" in list(drawn(explanation))


def test_nothing_of_the_queue_where_it_exists_or_queues_could_not_be_read() -> None:
    for cluster in (node() + queue("team-a") + RUNNING, node() + RUNNING):
        explanation = explained(cluster)
        assert (explanation.now.state, explanation.now.hints) == ("Running", ())
        assert "Hints" not in list(drawn(explanation))


# -- keys that are read elsewhere -----------------------------------------------------------------------------------


def workload(kind: str, metadata: str = "", of_pods: str = "") -> str:
    """A workload of Kubernetes with two pods; without a kind, one pod of no owner."""
    api = "batch/v1" if kind == "Job" else "apps/v1"
    owned = (
        f"ownerReferences: [{{apiVersion: {api}, kind: {kind}, name: web, uid: u, controller: true}}]" if kind else ""
    )
    pods = "".join(
        f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, {", ".join(each for each in (owned, of_pods) if each)}}}
spec: {{schedulerName: volcano, containers: [{{name: c, image: pause, resources: {{requests: {{cpu: "1"}}}}}}]}}
---"""
        for name in (("web-0", "web-1") if kind else ("web-0",))
    )
    return (
        (f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: web, uid: u, {metadata}}}\n---" if kind else "")
        + node()
        + queue("team-a")
        + pods
    )


def label(key: str, value: str) -> str:
    return f'labels: {{{key}: "{value}"}}'


def annotation(key: str, value: str) -> str:
    return f'annotations: {{{key}: "{value}"}}'


def hints(cluster: str, kind: str = "pod", name: str = "web-0") -> tuple[str, ...]:
    return explain_workload(world_of(cluster), kind, f"default/{name}").now.hints


@pytest.mark.parametrize(
    ("cluster", "found", "fix"),
    [
        (
            workload("", of_pods=label(QUEUE_NAME, "team-a")),
            f"label {QUEUE_NAME} (team-a) of pod web-0",
            "write it as an annotation of the pod",
        ),
        (
            workload("Job", of_pods=label(QUEUE_NAME, "team-a")),
            f"label {QUEUE_NAME} (team-a) of pods web-0, web-1",
            "write it as an annotation of the pod template",
        ),
        (
            workload("Job", annotation(QUEUE_NAME, "team-a")),
            f"annotation {QUEUE_NAME} (team-a) of Job web",
            "write it as an annotation of the pod template",
        ),
        (
            workload("StatefulSet", of_pods=annotation(MIN_MEMBER, "2")),
            f"annotation {MIN_MEMBER} (2) of pods web-0, web-1",
            "write it as an annotation of StatefulSet web",
        ),
        (
            workload("ReplicaSet", of_pods=annotation(MIN_MEMBER, "2")),
            f"annotation {MIN_MEMBER} (2) of pods web-0, web-1",
            "write it as an annotation of ReplicaSet web, or of its Deployment",
        ),
        (
            workload("Job", label(MIN_MEMBER, "2")),
            f"label {MIN_MEMBER} (2) of Job web",
            "write it as an annotation",
        ),
        (
            workload("", of_pods=annotation(MIN_MEMBER, "2")),
            f"annotation {MIN_MEMBER} (2) of pod web-0",
            f"create a PodGroup with this minMember, and name it in the annotation {GROUP_NAME} of its pods",
        ),
    ],
)
def test_a_key_that_is_read_elsewhere(cluster: str, found: str, fix: str) -> None:
    assert hints(cluster) == (f"{found} is ignored: {fix}",)


@pytest.mark.parametrize(
    "cluster",
    [
        workload("", of_pods=annotation(QUEUE_NAME, "team-a")),
        workload("Job", label(QUEUE_NAME, "team-a"), annotation(QUEUE_NAME, "team-a")),
        workload("Job", annotation(MIN_MEMBER, "2")),
        workload("Job", annotation(MIN_MEMBER, "2"), annotation(MIN_MEMBER, "3")),
        workload("Job", of_pods=label(MIN_MEMBER, "1")),
    ],
)
def test_no_key_that_counts_or_changes_nothing(cluster: str) -> None:
    assert hints(cluster) == ()


def test_the_spec_of_a_pod_group_or_job_counts_where_there_is_one() -> None:
    marked = gang(2, group="queue: team-a").replace("group-name: train", f"group-name: train, {QUEUE_NAME}: QUEUE")
    cluster = node() + queue("team-a")
    assert hints(cluster + marked.replace("QUEUE", "team-a"), "podgroup", "train") == ()
    (hint,) = hints(cluster + marked.replace("QUEUE", "team-b"), "podgroup", "train")
    of_pods = f"annotation {QUEUE_NAME} (team-b) of pods train-0, train-1"
    assert hint == f"{of_pods} is ignored: spec.queue of PodGroup train counts, which is team-a"
    job = volcano_job("1", 2).replace("{name: train}", f"{{name: train, {label(QUEUE_NAME, 'team-a')}}}")
    assert hints(cluster + job, "job", "train") == (
        f"label {QUEUE_NAME} (team-a) of Job train is ignored: spec.queue of Job train counts, which is default",
    )


def test_of_what_a_node_offers() -> None:
    odd_node = node().replace("pods:", "example.com/card: some, pods:")
    (amount,) = explain_node(world_of(odd_node), "n1").ignored
    assert amount.startswith("status.allocatable.example.com/card: 'some' is not a quantity")


QUEUES = (
    queue("school", 'weight: 0, capability: {cpu: "1000"}')
    + queue("lab", "parent: school, capability: {cpu: many}")
    + queue("other", "weight: -7")
)
SCHOOL = "queue school: spec.weight: 0 is below 1; it counts as 1"
LAB = "queue lab: spec.capability.cpu: 'many' is not a quantity (examples: 2, 500m, 1.5Gi, 1e3); it counts as absent"


def test_of_the_workloads_queue_and_those_above_it() -> None:
    for cpu in ("64", "1"):
        world = world_of(node() + QUEUES + gang(1, cpu, group="queue: lab"), TREE)
        explanation = explain_workload(world, "podgroup", "default/train")
        assert (explanation.now.state == "Waiting") is (cpu == "64")
        assert explanation.now.ignored_of_queues == (LAB, SCHOOL)
        lines = list(drawn(explanation))
        assert f"  {SCHOOL}" in lines[lines.index("Ignored") :]


def test_of_queues_above_only_where_the_configuration_has_a_tree() -> None:
    world = world_of(node() + QUEUES + gang(1, "64", group="queue: lab"), DEFAULT)
    assert explain_workload(world, "podgroup", "default/train").now.ignored_of_queues == (LAB,)


def test_of_a_queue_and_those_above_it() -> None:
    world = world_of(node() + QUEUES, TREE)
    assert explain_queue(world, "lab").ignored == (LAB, SCHOOL)
    assert explain_queue(world, "school").ignored == (SCHOOL,)
    assert "Ignored" in list(drawn(explain_queue(world, "school")))
    assert "Ignored" not in list(drawn(explain_queue(world, "default")))


def test_what_plugins_ignore_of_the_workload_is_named() -> None:
    topology = DEFAULT.replace("- name: nodeorder", "- name: nodeorder\n  - name: task-topology")
    odd_group = gang(1, "1").replace(
        "{name: train}", "{name: train, annotations: {volcano.sh/task-topology-affinity: '..'}}"
    )
    (ignored,) = explain_workload(world_of(node() + odd_group, topology), "podgroup", "default/train").now.ignored
    assert ignored.startswith("PodGroup default/train: task-topology annotations are ignored: ")


NOTEBOOK = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: example.com/disks
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, annotations: {volume.kubernetes.io/selected-node: n1}}
spec: {storageClassName: late, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---"""


def test_a_pod_that_has_a_place_but_no_volume_yet_is_told_of_the_claim() -> None:
    """It does not wait for the scheduler. In the copy its volume is created; whether it really is, is not known."""
    pod = "volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"
    now = explained(node() + NOTEBOOK + gang(pod=pod)).now
    assert now.state == "Starting"
    (hint,) = now.hints
    assert hint == (
        "pod train-0: bound once claim default/data of StorageClass late has its volume, which is to be created for "
        "node n1. If that takes long, look at kubectl -n default describe pvc data and at the provisioner"
    )
    assert explained(node() + NOTEBOOK + gang(pod=f"{pod}\n  nodeName: n1")).now.hints == ()
