"""While things are only tried, conditions are left alone that would change in their messages only."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.property.clusters import a_group, a_node, a_pod
from tests.support.registries import checked_registry
from volcano_py.api.objects import ObjectMeta, Pod, PodGroup, PriorityClass
from volcano_py.cluster.memory import MemoryCluster
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.simulation import Simulation
from volcano_py.state.cluster_state import ClusterState

REGISTRY = checked_registry()
EVICTING = default_configuration_text().replace("allocate, backfill", "allocate, preempt, backfill")


def crowded() -> Simulation:
    """A node that is full, and a pod with a PodGroup that waits for room on it."""
    configuration = parse_configuration(EVICTING, REGISTRY.catalogue()).config
    assert configuration is not None
    objects = [
        a_node("n1", 2),
        a_group("runs", 1, phase="Running"),
        a_pod("runs-0", "runs", 2, on="n1"),
        a_group("waits", 1),
        a_pod("waits-0", "waits", 2),
    ]
    made = Simulation([(type(obj).__name__, obj) for obj in objects], configuration, REGISTRY)
    made.run()
    return made


def waiting(made: Simulation) -> tuple[Pod, PodGroup]:
    pod, group = made.cluster.get("Pod", "team/waits-0", Pod), made.cluster.get("PodGroup", "team/waits", PodGroup)
    assert pod is not None
    assert group is not None
    return pod, group


@pytest.mark.parametrize(("only_tries", "changed"), [(True, 0), (False, 2)])
def test_another_message_is_no_change_where_things_are_only_tried(only_tries: bool, changed: int) -> None:
    """0/2 nodes would fit instead of 0/1."""
    made = crowded()
    if only_tries:
        made.only_try()
    made.cluster.put("Node", a_node("n2", 1))
    before = made.cluster.changes
    made.step()
    assert made.cluster.changes - before == changed
    assert ("0/2 nodes" in waiting(made)[0].status.conditions[0].message) == (not only_tries)


def test_another_phase_and_a_promised_place_are_changes() -> None:
    made = crowded()
    made.only_try()
    pod, group = waiting(made)
    assert pod.status.nominated_node_name == ""
    made.cluster.put("PriorityClass", PriorityClass(metadata=ObjectMeta(name="high", uid="high"), value=10))
    urgent = replace(group.spec, priority_class_name="high")
    made.cluster.put("PodGroup", replace(group, spec=urgent, status=replace(group.status, phase="Pending")))
    made.cluster.put("Pod", replace(pod, spec=replace(pod.spec, priority=10, priority_class_name="high")))
    made.step()
    pod, group = waiting(made)
    assert pod.status.nominated_node_name == "n1"
    assert group.status.phase == "Inqueue"


def test_changed_pods_are_named_once() -> None:
    made = MemoryCluster(ClusterState())
    made.put("Pod", a_pod("a", "g", 1))
    assert [pod.metadata.name for pod in made.changed_pods()] == ["a"]
    assert made.changed_pods() == []
    saved = made.saved()
    made.put("Pod", a_pod("b", "g", 1))
    made.remove("Pod", "team/a")
    made.restore(saved)
    assert [pod.metadata.name for pod in made.changed_pods()] == ["a"]
