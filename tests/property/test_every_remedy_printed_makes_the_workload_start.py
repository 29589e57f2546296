"""Whatever the cluster: each remedy of an explanation, made on a fresh copy, starts the workload, and nothing in an
explanation contradicts the cluster."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.clusters import Cluster, clusters
from tests.support.registries import checked_registry
from volcano_py.api.objects import Pod, PodGroup
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.explain.of_node import explain_node
from volcano_py.explain.of_queue import explain_queue
from volcano_py.explain.of_workload import explain_workload
from volcano_py.explain.remedies.candidate import Candidate
from volcano_py.explain.remedies.verified import verified
from volcano_py.explain.target import Target, find
from volcano_py.explain.world import World, group_of
from volcano_py.simulation import Simulation

REGISTRY = checked_registry()
FEW = settings(max_examples=max(settings().max_examples // 5, 10))
ENOUGH = 20
WITH_EVICTIONS = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
"""


def configured(text: str) -> SchedulerConfiguration:
    parsed = parse_configuration(text, REGISTRY.catalogue())
    assert parsed.config is not None
    return parsed.config


CONFIGURATIONS = [configured(default_configuration_text()), configured(WITH_EVICTIONS)]


@FEW
@given(clusters(), st.sampled_from(CONFIGURATIONS))
def test_every_remedy_starts_the_workload_on_a_fresh_copy(
    cluster: Cluster, configuration: SchedulerConfiguration
) -> None:
    world = World(cluster.stored(), configuration, REGISTRY)
    for job in cluster.jobs:
        target = find(world, "podgroup", f"team/{job.name}")
        if target.waiting or len(target.pods) < target.need:
            for candidate in verified(world, target):
                assert starts(cluster, configuration, target, candidate), candidate.remedy


@FEW
@given(clusters(), st.sampled_from(CONFIGURATIONS))
def test_an_explanation_says_what_the_cluster_is(cluster: Cluster, configuration: SchedulerConfiguration) -> None:
    world = World(cluster.stored(), configuration, REGISTRY)
    for job in cluster.jobs:
        name = f"team/{job.name}"
        explanation = explain_workload(world, "podgroup", name)
        now = explanation.now
        assert now.running == sum(now.nodes.values()) == world.placed(name)
        waits = now.state in ("Waiting", "Partly running")
        assert waits == bool(now.reason)
        assert sum(limit.binding for limit in explanation.limits) == int(waits)
        if explanation.nodes is not None:
            reported = explanation.nodes
            assert reported.takes + sum(reported.refusals.values()) == reported.total == len(cluster.nodes)
    for node in cluster.nodes:
        explained = explain_node(world, node.metadata.name)
        there = [pod for pod in world.objects("Pod", Pod) if pod.spec.node_name == node.metadata.name]
        assert sum(explained.pods.values()) == len(there) == explained.used.get("pods", 0)
    for queue in cluster.queues:
        assert explain_queue(world, queue.metadata.name).standing.queue == queue.metadata.name


@FEW
@given(clusters(), st.sampled_from(CONFIGURATIONS))
def test_what_was_tried_leaves_nothing_behind(cluster: Cluster, configuration: SchedulerConfiguration) -> None:
    world = World(cluster.stored(), configuration, REGISTRY)
    before = placements(world)
    used = world.simulation.state.ledger.nodes.used.sum()
    for job in cluster.jobs:
        explain_workload(world, "podgroup", f"team/{job.name}")
        assert placements(world) == before
    assert world.simulation.state.ledger.nodes.used.sum() == used


def placements(world: World) -> dict[str, str]:
    return {pod.metadata.key: pod.spec.node_name for pod in world.objects("Pod", Pod)}


def starts(cluster: Cluster, configuration: SchedulerConfiguration, target: Target, candidate: Candidate) -> bool:
    """Whether it starts in a cluster on which nothing else was tried, and whose scheduler goes on as it was."""
    simulation = Simulation(cluster.stored(), configuration, REGISTRY)
    simulation.run(ENOUGH)
    for change in candidate.changes:
        if change.obj is None:
            simulation.cluster.remove(change.kind, change.key)
        else:
            simulation.cluster.put(change.kind, change.obj)
    simulation.configuration = candidate.configuration or configuration
    simulation.run(ENOUGH)
    group = simulation.cluster.get("PodGroup", target.group, PodGroup)
    assert group is not None
    placed = sum(
        group_of(pod) == target.group and bool(pod.spec.node_name) for pod in simulation.cluster.objects("Pod", Pod)
    )
    return placed >= (group.spec.min_member if candidate.remedy.kind == "fewer-pods" else target.need)
