"""A tenant has two ways to keep its pods from being evicted, and its queue goes on being charged for them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from tests.support.registries import checked_registry
from tests.support.sessions import gang, node, queue
from volcano_py.api.objects import ApiObject, Pod
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

REGISTRY = checked_registry()
CONFIGURATION = """
actions: "enqueue, allocate, backfill, reclaim"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: proportion}, {name: predicates}]
"""


def busy() -> Simulation:
    """A cluster of 4 CPUs, all of which the pods of queue `team` hold. It deserves 2 of them."""
    parsed = parse_configuration(CONFIGURATION, REGISTRY.catalogue())
    assert parsed.config is not None, parsed.problems
    objects: list[ApiObject] = [
        node("n1", cpu="4"),
        queue("team"),
        queue("others"),
        *gang("first", pods=4, queue="team", cpu="1", min_member=1, running_on=["n1"] * 4),
    ]
    return Simulation([(type(each).__name__, each) for each in objects], parsed.config, REGISTRY)


def nothing(_simulation: Simulation) -> None:
    """The pods are like any others."""


def delete_the_group(simulation: Simulation) -> None:
    simulation.cluster.remove("PodGroup", "team/first")


def say_so(simulation: Simulation) -> None:
    for each in simulation.cluster.objects("Pod", Pod):
        annotations = {**each.metadata.annotations, "volcano.sh/preemptable": "false"}
        metadata = msgspec.structs.replace(each.metadata, annotations=annotations)
        simulation.cluster.put("Pod", msgspec.structs.replace(each, metadata=metadata))


@pytest.mark.parametrize(("spare", "evicted"), [(nothing, 2), (delete_the_group, 0), (say_so, 0)])
def test_pods_that_say_so_or_lost_their_podgroup_are_not_evicted_and_count(
    spare: Callable[[Simulation], None], evicted: int
) -> None:
    simulation = busy()
    simulation.run()
    spare(simulation)
    for each in gang("owed", pods=2, queue="others", cpu="1"):
        simulation.cluster.put(type(each).__name__, each)
    result = simulation.run()
    assert len(result.evictions) == evicted
    assert result.queues["team"]["allocated"]["cpu"] == str(4 - evicted)
