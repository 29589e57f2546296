"""A queue at its ceiling, on a cluster with room: an urgent pod is promised the place of a lesser one of its queue. It
is bound when that one is gone, however long its grace period, and no other pod is evicted in the meantime."""

from __future__ import annotations

from typing import Any

import pytest

from tests.property.evictions.test_victims_take_their_time import SlowCluster
from tests.support.registries import checked_registry
from tests.support.sessions import gang, node, priority_class, queue
from volcano_py.api.objects import ApiObject, Pod
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

REGISTRY = checked_registry()
CONFIGURATION = """
actions: "{actions}"
tiers:
- plugins:
  - {{name: priority}}
  - {{name: gang, enablePreemptable: false}}
- plugins:
  - {{name: {owner}}}
  - {{name: predicates}}
"""


def run(actions: str, owner: str, grace: int, *objects: Any, seconds: int) -> tuple[Simulation, list[int]]:
    """The cluster after so many seconds, and how many pods of the queue there were after each."""
    parsed = parse_configuration(CONFIGURATION.format(actions=actions, owner=owner), REGISTRY.catalogue())
    assert parsed.config is not None, parsed.problems
    flat: list[ApiObject] = [
        node("n1", cpu="64"),
        queue("team", capability={"cpu": "4"}),
        priority_class("urgent", 1000),
        *gang("low", pods=4, queue="team", min_member=1, cpu="1", annotations={"grace": str(grace)}),
    ]
    simulation = Simulation([(type(each).__name__, each) for each in flat], parsed.config, REGISTRY)
    simulation.run()
    for each in objects:
        simulation.cluster.put(type(each).__name__, each)
    bound = []
    for _ in range(seconds):
        assert isinstance(simulation.cluster, SlowCluster)
        simulation.cluster.now = simulation.now + 1.0
        simulation.step()
        bound.append(sum(bool(each.spec.node_name) for each in simulation.cluster.objects("Pod", Pod)))
    return simulation, bound


@pytest.mark.parametrize("actions", ["enqueue, allocate, backfill, preempt", "enqueue, preempt, allocate, backfill"])
@pytest.mark.parametrize("owner", ["capacity", "capacity, enableHierarchy: true", "proportion"])
@pytest.mark.parametrize("grace", [1, 30, 100])
def test_one_goes_and_the_other_comes_when_it_is_gone(
    actions: str, owner: str, grace: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("volcano_py.simulation.MemoryCluster", SlowCluster)
    urgent = gang("urgent", pods=1, queue="team", cpu="1", priority_class="urgent", group_phase="Pending")
    simulation, bound = run(actions, owner, grace, *urgent, seconds=grace + 5)
    assert len(simulation.cluster.evictions) == 1
    assert max(bound) == 4, "the ceiling"
    assert "team/urgent-0" in simulation.cluster.binds


@pytest.mark.parametrize("owner", ["capacity", "capacity, enableHierarchy: true", "proportion"])
def test_a_gang_is_bound_as_a_whole_when_all_of_them_are_gone(owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("volcano_py.simulation.MemoryCluster", SlowCluster)
    urgent = gang("urgent", pods=3, queue="team", cpu="1", priority_class="urgent", group_phase="Pending")
    simulation, bound = run("enqueue, allocate, preempt", owner, 10, *urgent, seconds=16)
    assert len(simulation.cluster.evictions) == 3
    assert max(bound) == 4, "the ceiling"
    assert {f"team/urgent-{index}" for index in range(3)} <= simulation.cluster.binds.keys()
