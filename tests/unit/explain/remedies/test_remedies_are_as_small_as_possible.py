"""Sizes in remedies are the ones that are just enough."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from tests.property.clusters import a_group, a_node, a_pod
from volcano_py.api.objects import ApiObject, Node, Pod, Taint
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.explain.remedies.verified import verified
from volcano_py.explain.target import find
from volcano_py.explain.world import World
from volcano_py.scheduler import builtin_registry

REGISTRY = builtin_registry()


def texts(objects: list[ApiObject]) -> dict[str, str]:
    """Kind of remedy → its text, for the PodGroup team/train."""
    parsed = parse_configuration(default_configuration_text(), REGISTRY.catalogue())
    assert parsed.config is not None
    world = World([(type(obj).__name__, obj) for obj in objects], parsed.config, REGISTRY)
    return {each.remedy.kind: each.remedy.text for each in verified(world, find(world, "podgroup", "team/train"))}


def gang(count: int, cpu: int) -> list[ApiObject]:
    return [a_group("train", count), *(a_pod(f"train-{number}", "train", cpu) for number in range(count))]


def test_the_minimum_is_the_largest_that_starts() -> None:
    found = texts([a_node("n1", 8), a_node("n2", 8), *gang(6, 4)])
    assert found["fewer-pods"] == "start with fewer pods: lower minMember of PodGroup team/train from 6 to 4"


def test_the_size_is_the_largest_that_starts() -> None:
    found = texts([a_node("n1", 8), a_node("n2", 8), *gang(6, 4)])
    assert found["smaller-pods"] == "ask for less: 2.666 cpu for each pod instead of 4 cpu (recreate the pods)"


def test_no_more_nodes_are_added_than_needed() -> None:
    found = texts([a_node("n1", 8), a_node("n2", 8), *gang(6, 4)])
    assert found["nodes"] == "add 1 node like n1"


def cordoned(name: str, cpu: int) -> Node:
    node = a_node(name, cpu)
    taint = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    return replace(node, spec=replace(node.spec, unschedulable=True, taints=[taint]))


def test_no_more_nodes_are_uncordoned_than_needed() -> None:
    found = texts([cordoned("n1", 2), cordoned("n2", 8), cordoned("n3", 8), a_node("n4", 8), *gang(3, 4)])
    assert found["uncordon"] == "uncordon node n2 (kubectl uncordon n2)"
    found = texts([cordoned("n1", 4), cordoned("n2", 2), cordoned("n3", 4), *gang(2, 4)])
    assert found["uncordon"] == "uncordon nodes n1, n3 (kubectl uncordon n1 n3)"


def test_cordoned_nodes_that_are_too_small_stay_cordoned() -> None:
    assert "uncordon" not in texts([cordoned("n1", 2), a_node("n2", 2), *gang(1, 4)])


def test_the_end_of_the_smallest_job_is_enough() -> None:
    other: list[ApiObject] = [a_group("small", 1, phase="Running"), a_group("large", 2, phase="Running")]
    pods: list[Pod] = [
        a_pod("s", "small", 2, on="n1"),
        a_pod("l-0", "large", 3, on="n1"),
        a_pod("l-1", "large", 3, on="n1"),
    ]
    found = texts([a_node("n1", 8), *other, *pods, *gang(1, 2)])
    assert found["end"] == "wait for the end of team/small (1 pod), or delete it"


def test_nothing_is_said_to_help_when_nothing_does() -> None:
    assert texts(gang(1, 1)) == {}


def running(sizes: Mapping[str, tuple[int, ...]], node: str = "n1") -> list[ApiObject]:
    """Gangs that run on one node: name → the CPUs of each pod."""
    objects: list[ApiObject] = []
    for name, pods in sizes.items():
        objects.append(a_group(name, len(pods), phase="Running"))
        objects += [a_pod(f"{name}-{number}", name, cpu, on=node) for number, cpu in enumerate(pods)]
    return objects


def test_one_job_that_is_enough_ends_rather_than_two_smaller_ones() -> None:
    """Of 12 CPUs 4 are needed: c frees them alone; a and b would, too, with fewer pods each."""
    found = texts([a_node("n1", 12), *running({"a": (2,), "b": (2,), "c": (3, 2), "d": (1, 1, 1)}), *gang(1, 4)])
    assert found["end"] == "wait for the end of team/c (2 pods), or delete it"


def test_no_job_ends_without_which_the_others_are_enough() -> None:
    """6 pods of 2 CPUs need 12: all but one of the jobs of 3."""
    jobs = {f"j{number}": (3,) for number in range(5)}
    found = texts([a_node("n1", 15), *running(jobs), *gang(6, 2)])
    assert found["end"].count("(1 pod)") == 4
    assert found["end"].endswith("or delete them")


def test_jobs_on_nodes_that_refuse_the_pod_do_not_end() -> None:
    """The larger job is in zone b, which the pod may not use."""
    nodes = [a_node("n1", 8, zone="a"), a_node("n2", 8, zone="b")]
    jobs = [*running({"near": (4, 4)}, "n1"), *running({"far": (8,)}, "n2")]
    waiting: list[ApiObject] = [a_group("train", 1), a_pod("train-0", "train", 8, zone="a")]
    assert texts([*nodes, *jobs, *waiting])["end"] == "wait for the end of team/near (2 pods), or delete it"


def test_more_ends_are_tried_where_others_take_what_is_free_first() -> None:
    """What is ahead takes the first 4 CPUs."""
    ahead: list[ApiObject] = [a_group("ahead", 1, age=9), a_pod("ahead-0", "ahead", 4, age=9)]
    jobs = running({"a": (4,), "b": (4,)})
    found = texts([a_node("n1", 8), *jobs, *ahead, *gang(1, 4)])
    assert found["end"] == "wait for the end of team/a (1 pod) and team/b (1 pod), or delete them"
