"""An explanation repeats what the events say of annotations and labels that cannot be read."""

from __future__ import annotations

from tests.unit.explain.causes import DEFAULT, TREE, gang, node, queue, world_of
from volcano_py.cli.explaining.drawing import drawn
from volcano_py.explain.of_node import explain_node
from volcano_py.explain.of_queue import explain_queue
from volcano_py.explain.of_workload import explain_workload

PRIORITY = "annotation volcano.sh/task-priority is '1e999': write a whole number, such as 100"
ESTIMATE = "annotation volcano.sh/running-estimate is 'long': write a duration above 0, such as 45m"
ABSENT = "until then it counts as absent"


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
