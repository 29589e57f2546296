"""Whatever the cluster: where all queues are directly below root, proportion decides the same with `enableHierarchy` as
without, cycle by cycle, down to the messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.clusters import QUEUES, Cluster, clusters, meta
from tests.support.registries import checked_registry
from volcano_py.api.objects import (
    Pod,
    PodGroup,
    Queue,
    QueueGuarantee,
    QueueSpec,
    QueueStatus,
    ResourceList,
    metadata_of,
)
from volcano_py.config import parse_configuration
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.simulation import Simulation

REGISTRY = checked_registry()
FEW = settings(max_examples=settings().max_examples // 3)
CYCLES = 12

SHIPPED = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang, enablePreemptable: false}}, {{name: conformance}}]
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - {proportion}
  - name: nodeorder
  - name: binpack
"""
TAKING = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang, enablePreemptable: false, enableReclaimable: false}}]
- plugins: [{{name: predicates}}, {proportion}, {{name: nodeorder}}]
"""


def configured(text: str, proportion: str) -> SchedulerConfiguration:
    parsed = parse_configuration(text.format(proportion=proportion), REGISTRY.catalogue())
    assert parsed.config is not None, parsed.problems
    return parsed.config


@st.composite
def flat_clusters(draw: st.DrawFn) -> Cluster:
    """With guarantees, priorities and closed queues; some jobs have minResources, and some pods run already."""
    cluster = draw(clusters())
    amounts: st.SearchStrategy[ResourceList] = st.sampled_from(
        [{}, {}, {"cpu": "1"}, {"cpu": "3"}, {"cpu": "6", "memory": "32Gi"}]
    )
    queues = tuple(
        Queue(
            metadata=meta(name, draw(st.integers(8, 9))),
            spec=QueueSpec(
                weight=draw(st.integers(1, 3)),
                capability=draw(amounts),
                guarantee=QueueGuarantee(resource=draw(amounts)),
                priority=draw(st.sampled_from([0, 0, 1])),
                reclaimable=draw(st.sampled_from([None, True, False])),
                parent=draw(st.sampled_from(["", "root"])),
            ),
            status=QueueStatus(state=draw(st.sampled_from(["", "Open", "Open", "Open", "Closed", "Closing"]))),
        )
        for name in QUEUES
    )
    return replace(cluster, queues=queues)


def objects(cluster: Cluster, promised: dict[str, int], running: dict[str, int]) -> list[tuple[str, Any]]:
    """The first pods of some jobs run on the first node, as far as it holds them."""
    room = int(cluster.nodes[0].status.allocatable["cpu"])
    left, found = dict(running), list[tuple[str, Any]]()
    for kind, each in cluster.stored():
        name, changed = metadata_of(each).name, each
        job = name.partition("-")[0]
        if isinstance(each, PodGroup) and name in promised:
            spec = msgspec.structs.replace(each.spec, min_resources={"cpu": str(promised[name])})
            changed = msgspec.structs.replace(each, spec=spec)
        elif isinstance(each, Pod) and left.get(job, 0) and cpu_of(each) <= room:
            left[job] -= 1
            room -= cpu_of(each)
            on_node = msgspec.structs.replace(each.spec, node_name=cluster.nodes[0].metadata.name)
            changed = msgspec.structs.replace(each, spec=on_node)
        found.append((kind, changed))
    return found


def cpu_of(pod: Pod) -> int:
    return int(pod.spec.containers[0].resources.requests.get("cpu", 0))


def seen(simulation: Simulation) -> dict[str, Any]:
    """All that a cycle has decided and written."""
    cluster = simulation.cluster
    return {
        "pods": {
            each.metadata.name: (each.spec.node_name, [(item.reason, item.message) for item in each.status.conditions])
            for each in cluster.objects("Pod", Pod)
        },
        "groups": {
            each.metadata.name: (each.status.phase, [(item.type, item.message) for item in each.status.conditions])
            for each in cluster.objects("PodGroup", PodGroup)
        },
        "queues": {each.metadata.name: each.status for each in cluster.objects("Queue", Queue)},
        "evictions": list(cluster.evictions),
    }


@pytest.mark.parametrize("text", [SHIPPED, TAKING], ids=["shipped", "preempt and reclaim"])
@FEW
@given(
    flat_clusters(),
    st.dictionaries(st.sampled_from([f"j{index}" for index in range(6)]), st.integers(1, 9)),
    st.dictionaries(st.sampled_from([f"j{index}" for index in range(6)]), st.integers(1, 4)),
)
def test_it(text: str, cluster: Cluster, promised: dict[str, int], running: dict[str, int]) -> None:
    everything = objects(cluster, promised, running)
    side_by_side, tree = (
        Simulation(everything, configured(text, proportion), REGISTRY)
        for proportion in ("{name: proportion}", "{name: proportion, enableHierarchy: true}")
    )
    for _ in range(CYCLES):
        moved = side_by_side.step()
        assert tree.step() == moved
        assert seen(tree) == seen(side_by_side)
        assert not tree.reports[-1].plugin_errors
        if not moved:
            break
