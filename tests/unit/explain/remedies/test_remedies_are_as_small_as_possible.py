"""Sizes in remedies are the ones that are just enough."""

from __future__ import annotations

from tests.property.clusters import a_group, a_node, a_pod
from volcano_py.api.objects import ApiObject, Pod
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
