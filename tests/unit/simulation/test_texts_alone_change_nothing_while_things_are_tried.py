"""A cluster in memory can leave conditions alone that would change in their messages only."""

from __future__ import annotations

from typing import Any

import pytest

from tests.property.clusters import a_group, a_pod
from volcano_py.api.effects import ObjectRef, PodCondition, PodGroupStatusUpdate
from volcano_py.api.objects import Condition
from volcano_py.api.reasons import Reason
from volcano_py.cluster.memory import MemoryCluster
from volcano_py.state.cluster_state import ClusterState

POD = ObjectRef("Pod", "team", "a", "team-a")
GROUP = ObjectRef("PodGroup", "team", "g", "team-g")


def cluster(*, ignores_text: bool) -> MemoryCluster:
    """With a pod and a PodGroup that have waited for one reason."""
    made = MemoryCluster(ClusterState())
    made.put("Pod", a_pod("a", "g", 1))
    made.put("PodGroup", a_group("g", 1))
    made.apply([of_pod("0/1 nodes"), of_group("0/1 nodes")])
    made.ignores_text = ignores_text
    return made


def of_pod(message: str, **more: Any) -> PodCondition:
    return PodCondition(POD, "Unschedulable", message, Reason.NODES_REFUSE, **more)


def of_group(message: str, phase: str = "Pending") -> PodGroupStatusUpdate:
    condition = Condition(type="Unschedulable", status="True", reason="NotEnoughResources", message=message)
    return PodGroupStatusUpdate(GROUP, phase=phase, conditions=(condition,), running=0, succeeded=0, failed=0)


@pytest.mark.parametrize(("ignores_text", "changed"), [(True, 0), (False, 2)])
def test_another_message_is_no_change_where_texts_are_ignored(ignores_text: bool, changed: int) -> None:
    made = cluster(ignores_text=ignores_text)
    before = made.changes
    made.apply([of_pod("0/2 nodes"), of_group("0/2 nodes")])
    assert made.changes - before == changed


def test_another_phase_and_a_promised_place_are_changes() -> None:
    made = cluster(ignores_text=True)
    before = made.changes
    made.apply([of_pod("0/2 nodes", nominated_node="n1"), of_group("0/2 nodes", phase="Inqueue")])
    assert made.changes - before == 2


def test_changed_pods_are_named_once() -> None:
    made = cluster(ignores_text=True)
    assert [pod.metadata.name for pod in made.changed_pods()] == ["a"]
    assert made.changed_pods() == []
    saved = made.saved()
    made.put("Pod", a_pod("b", "g", 1))
    made.remove("Pod", "team/a")
    made.restore(saved)
    assert [pod.metadata.name for pod in made.changed_pods()] == ["a"]
