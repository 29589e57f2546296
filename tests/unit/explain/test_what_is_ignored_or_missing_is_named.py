"""An explanation repeats what the events say of annotations and labels that cannot be read, and has hints about what
else the user of a workload may not expect."""

from __future__ import annotations

from tests.unit.explain.causes import explained, gang, node, queue, world_of
from volcano_py.cli.explaining.drawing import drawn
from volcano_py.explain.of_node import explain_node
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
