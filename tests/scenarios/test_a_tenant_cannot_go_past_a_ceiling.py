"""A queue of 4 cpu runs 4 pods of a tenant, who then tries to run 4 more with what a tenant may write."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.registries import checked_registry
from tests.support.sessions import NOW, gang, node, pod, pod_group, queue
from volcano_py.api.names import CHARGED_QUEUE, GROUP_NAME
from volcano_py.api.objects import ApiObject, Pod, PodGroup
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

REGISTRY = checked_registry()
OWNERS = {
    "capacity": "capacity",
    "capacity in a tree": "capacity, enableHierarchy: true",
    "proportion": "proportion",
    "proportion in a tree": "proportion, enableHierarchy: true",
}
CONFIGURATION = """
actions: "enqueue, allocate, backfill, preempt, reclaim"
tiers:
- plugins:
  - {{name: priority}}
  - {{name: gang}}
- plugins:
  - {{name: {owner}}}
  - {{name: predicates}}
"""
YEAR = timedelta(days=365)


class Cluster:
    """A cluster of 64 cpu, with a queue `team` of capability 4, and the 4 pods of PodGroup `first` running in it."""

    def __init__(self, owner: str) -> None:
        parsed = parse_configuration(CONFIGURATION.format(owner=OWNERS[owner]), REGISTRY.catalogue())
        assert parsed.config is not None, parsed.problems
        objects: list[ApiObject] = [
            node("n1", cpu="64"),
            queue("default"),
            queue("team", capability={"cpu": "4"}),
            queue("other"),
            *gang("first", pods=4, queue="team", cpu="1", min_member=1),
        ]
        self.simulation = Simulation([(type(each).__name__, each) for each in objects], parsed.config, REGISTRY)
        self.simulation.run()
        assert len(self.running()) == 4

    def running(self) -> set[str]:
        """Names of the pods that have a node."""
        pods = self.simulation.cluster.objects("Pod", Pod)
        return {each.metadata.name for each in pods if each.spec.node_name}

    def run_more(self, name: str, queue: str = "team") -> int:
        """How many pods of a new PodGroup of 4 run, though the first 4 are still there."""
        for each in gang(name, pods=4, queue=queue, cpu="1", min_member=1, group_phase="Pending"):
            self.put(each)
        self.simulation.run()
        assert {f"first-{index}" for index in range(4)} <= self.running(), "none of them ends, or is evicted"
        return len({each for each in self.running() if each.startswith(name)})

    def put(self, obj: ApiObject) -> None:
        self.simulation.cluster.put(type(obj).__name__, obj)

    def edit_pods(self, edit: Callable[[Pod], Pod]) -> None:
        """Change the first 4."""
        for each in self.simulation.cluster.objects("Pod", Pod):
            if each.metadata.name.startswith("first-"):
                self.put(edit(each))

    def group(self, name: str) -> PodGroup:
        found = self.simulation.cluster.get("PodGroup", f"team/{name}", PodGroup)
        assert found is not None
        return found


@pytest.fixture(params=OWNERS)
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """A cluster for each plugin that keeps ceilings."""
    return Cluster(request.param)


def annotated(pod: Pod, annotations: dict[str, str]) -> Pod:
    """The pod with these annotations and no others."""
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=annotations))


def moved(group: PodGroup, queue: str) -> PodGroup:
    """The PodGroup with another queue."""
    return msgspec.structs.replace(group, spec=msgspec.structs.replace(group.spec, queue=queue))


def ended(pod: Pod) -> Pod:
    """The pod when its work is done."""
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, phase="Succeeded"))


def leaving(pod: Pod) -> Pod:
    """The pod deleted with a year of grace."""
    fields: dict[str, Any] = {
        "deletion_timestamp": NOW + YEAR,
        "deletion_grace_period_seconds": int(YEAR.total_seconds()),
    }
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, **fields))


def test_the_queue_is_full(cluster: Cluster) -> None:
    assert cluster.run_more("second") == 0


def test_by_deleting_the_podgroup(cluster: Cluster) -> None:
    cluster.simulation.cluster.remove("PodGroup", "team/first")
    assert cluster.run_more("second") == 0


def test_by_removing_the_group_annotation(cluster: Cluster) -> None:
    cluster.edit_pods(lambda each: annotated(each, {}))
    assert cluster.run_more("second") == 0


def test_by_naming_another_group_that_is_in_another_queue(cluster: Cluster) -> None:
    cluster.put(pod_group("elsewhere", queue="other"))
    cluster.edit_pods(lambda each: annotated(each, {**each.metadata.annotations, GROUP_NAME: "elsewhere"}))
    assert cluster.run_more("second") == 0


def test_by_editing_the_annotation_that_says_what_the_pods_are_charged_to(cluster: Cluster) -> None:
    cluster.edit_pods(lambda each: annotated(each, {**each.metadata.annotations, CHARGED_QUEUE: "other"}))
    assert cluster.run_more("second") == 0


def test_by_moving_the_group_to_another_queue(cluster: Cluster) -> None:
    cluster.put(moved(cluster.group("first"), "other"))
    assert cluster.run_more("second") == 0


def test_by_moving_the_group_to_a_queue_that_does_not_exist(cluster: Cluster) -> None:
    cluster.put(moved(cluster.group("first"), "nowhere"))
    assert cluster.run_more("second") == 0


def test_by_deleting_the_pods_with_a_year_of_grace(cluster: Cluster) -> None:
    cluster.edit_pods(leaving)
    assert cluster.run_more("second") == 0


def test_pods_past_their_grace_count_until_they_are_gone(cluster: Cluster) -> None:
    cluster.edit_pods(leaving)
    cluster.simulation.now += 2 * YEAR.total_seconds()
    assert cluster.run_more("second") == 0
    for index in range(3):
        cluster.simulation.cluster.remove("Pod", f"team/first-{index}")
    cluster.simulation.run()
    assert sorted(cluster.running()) == ["first-3", "second-0", "second-1", "second-2"]


def test_pods_that_have_ended_count_no_more(cluster: Cluster) -> None:
    cluster.edit_pods(ended)
    assert cluster.run_more("second") == 4


def test_the_pods_of_a_group_that_has_moved_count_where_each_was_bound(cluster: Cluster) -> None:
    """New ones count in the new queue, which has room."""
    cluster.put(moved(cluster.group("first"), "other"))
    for index in (4, 5):
        cluster.put(pod(f"first-{index}", group="first", cpu="1"))
    cluster.simulation.run()
    queues = cluster.simulation.run(1).queues
    assert [queues[name]["allocated"]["cpu"] for name in ("team", "other")] == ["4", "2"]
