"""Whatever the cluster: each remedy of an explanation, made on a fresh copy, starts the workload, and nothing in an
explanation contradicts the cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.property.clusters import QUEUES, Cluster, clusters
from tests.support.registries import checked_registry
from volcano_py.api.objects import Node, Pod, PodGroup, PodStatus, Queue
from volcano_py.cluster.manifests import EPOCH, Stored
from volcano_py.cluster.memory_pods import group_of
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.explain.asked import asked, asks
from volcano_py.explain.model import WorkloadExplanation
from volcano_py.explain.of_node import explain_node
from volcano_py.explain.of_queue import explain_queue
from volcano_py.explain.of_workload import explain_workload
from volcano_py.explain.remedies.candidate import Candidate
from volcano_py.explain.remedies.verified import verified
from volcano_py.explain.target import Target, find, has_started
from volcano_py.explain.world import World
from volcano_py.simulation import Simulation

REGISTRY = checked_registry()
FEW = settings(max_examples=max(settings().max_examples // 5, 10))
EXPLANATIONS = int(os.environ.get("EXPLANATIONS", "40"))
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


@settings(max_examples=EXPLANATIONS // 2)
@given(clusters(), st.sampled_from(CONFIGURATIONS), st.lists(st.sampled_from([0, 60, 3600]), min_size=4, max_size=4))
def test_explanations_claim_nothing_that_the_cluster_contradicts(
    cluster: Cluster, configuration: SchedulerConfiguration, deadlines: list[int]
) -> None:
    """Every remedy starts the workload on a fresh copy, so do the ends that are foreseen, and every number is the
    cluster's. There are two or three explanations in an example."""
    items = [*with_deadlines(cluster.stored(), deadlines)]
    world = World(items, configuration, REGISTRY)
    for job in cluster.jobs:
        explanation = explain_workload(world, "podgroup", f"team/{job.name}")
        check_now(world, explanation)
        check_numbers(world, explanation)
        check_holders(world, explanation)
        check_forecast(items, world, explanation)
        check_remedies(items, world, explanation)
    check_nodes_and_queues(world, cluster)


def check_now(world: World, explanation: WorkloadExplanation) -> None:
    now = explanation.now
    assert now.running == sum(now.nodes.values()) == world.placed(explanation.name)
    waits = now.state in ("Waiting", "Partly running")
    assert waits == bool(now.reason)
    assert sum(limit.binding for limit in explanation.limits) == int(waits)
    if explanation.nodes is not None:
        explained = explanation.nodes
        assert explained.takes + sum(explained.refusals.values()) == explained.total == len(world.objects("Node", Node))


def check_numbers(world: World, explanation: WorkloadExplanation) -> None:
    """What is used is what pods on nodes ask for, and limits are those of the objects."""
    for limit in explanation.limits:
        if limit.kind == "queue" and limit.name in QUEUES and limit.resource:
            assert limit.used == used(world, limit.resource, limit.name), limit
            queue = world.simulation.cluster.get("Queue", limit.name, Queue)
            assert queue is not None
            written = units(limit.resource, queue.spec.capability.get(limit.resource))
            assert written in (None, limit.limit), limit
        if limit.kind == "cluster" and limit.resource:
            nodes = world.objects("Node", Node)
            assert limit.used == used(world, limit.resource), limit
            assert limit.limit == sum(
                units(limit.resource, node.status.allocatable[limit.resource]) or 0 for node in nodes
            )
        if limit.binding and limit.kind in ("queue", "cluster") and limit.limit is not None:
            most = limit.limit - limit.kept_for_others
            most = min(most, limit.deserved) if explanation.now.reason == "OverDeserved" and limit.deserved else most
            assert limit.used + limit.promised + limit.asked > most, (explanation.now, limit)


def check_holders(world: World, explanation: WorkloadExplanation) -> None:
    actions = world.configuration.actions
    for holder in explanation.holders:
        pods = [pod for pod in on_nodes(world) if group_of(pod) == holder.job]
        assert holder.pods == len(pods)
        assert holder.holds == asked(pods)
        for action in ("preempt", "reclaim"):
            assert (action in actions) or not holder.stays.startswith(f"{action} ")
            assert (action not in actions) or holder.stays != f"the configuration has no action {action}"


def check_forecast(items: Sequence[Stored], world: World, explanation: WorkloadExplanation) -> None:
    """On a fresh copy the workload has started once all has ended that was to end by then, one after the other."""
    forecast = explanation.forecast
    if forecast is None or not forecast.at or "at the latest" in forecast.why:
        return
    fresh = World(items, world.configuration, REGISTRY)
    target, simulation = find(fresh, "podgroup", explanation.name), fresh.simulation
    moment = datetime.fromisoformat(forecast.at).timestamp()
    while ending := sorted(end for end in ends(fresh) if end[0] <= moment):
        assert not has_started(fresh, target)
        for at, pod in ending:
            if at == ending[0][0]:
                simulation.cluster.put("Pod", replace(pod_named(fresh, pod), status=PodStatus(phase="Succeeded")))
        simulation.now = max(simulation.now, ending[0][0] - 1)
        fresh.settle()
    assert has_started(fresh, target), forecast


def check_remedies(items: Sequence[Stored], world: World, explanation: WorkloadExplanation) -> None:
    target = find(world, "podgroup", explanation.name)
    found = verified(world, target) if explanation.now.reason else []
    assert tuple(each.remedy for each in found) == explanation.remedies
    for candidate in found:
        assert starts(items, world.configuration, target, candidate), candidate.remedy


def check_nodes_and_queues(world: World, cluster: Cluster) -> None:
    for node in cluster.nodes:
        explained = explain_node(world, node.metadata.name)
        there = [pod for pod in on_nodes(world) if pod.spec.node_name == node.metadata.name]
        assert sum(explained.pods.values()) == len(there) == explained.used.get("pods", 0)
    held = {name: used(world, "cpu", name) for name in QUEUES}
    for name in QUEUES:
        of_queue = explain_queue(world, name)
        assert of_queue.standing.allocated.get("cpu", 0) == held[name]
        for borrower in of_queue.borrowers:
            deserved = explain_queue(world, borrower.queue).standing.deserved
            assert borrower.over.get("cpu", 0) in (0, held[borrower.queue] - deserved.get("cpu", 0))


def on_nodes(world: World) -> list[Pod]:
    return [
        pod for pod in world.objects("Pod", Pod) if pod.spec.node_name and pod.status.phase in ("Pending", "Running")
    ]


def used(world: World, resource: str, queue: str = "") -> int:
    """What pods on nodes ask for; those of the PodGroups of one queue, if it is named."""
    total = 0
    for pod in on_nodes(world):
        group = world.group(group_of(pod))
        if not queue or (group is not None and group.spec.queue == queue):
            total += asks(pod).get(resource, 0)
    return total


def units(resource: str, quantity: str | int | float | None) -> int | None:
    if quantity is None:
        return None
    number = str(quantity).removesuffix("Gi")
    return int(number) * (1000 if resource == "cpu" else 2**30 if str(quantity).endswith("Gi") else 1)


def with_deadlines(items: Sequence[Stored], deadlines: Sequence[int]) -> Iterator[Stored]:
    """The same, with activeDeadlineSeconds (0: none) given to the pods in turn; what runs has just begun."""
    for number, (kind, obj) in enumerate(items):
        seconds = deadlines[number % len(deadlines)]
        if isinstance(obj, Pod) and seconds:
            status = replace(obj.status, start_time=EPOCH if obj.spec.node_name else None)
            yield kind, replace(obj, spec=replace(obj.spec, active_deadline_seconds=seconds), status=status)
        else:
            yield kind, obj


def ends(world: World) -> list[tuple[float, str]]:
    """When pods on nodes are to end, and which."""
    return [
        (pod.status.start_time.timestamp() + pod.spec.active_deadline_seconds, pod.metadata.key)
        for pod in on_nodes(world)
        if pod.spec.active_deadline_seconds and pod.status.start_time is not None
    ]


def pod_named(world: World, key: str) -> Pod:
    pod = world.simulation.cluster.get("Pod", key, Pod)
    assert pod is not None
    return pod


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


def starts(
    items: Sequence[Stored], configuration: SchedulerConfiguration, target: Target, candidate: Candidate
) -> bool:
    """Whether it starts in a cluster on which nothing else was tried, and whose scheduler goes on as it was."""
    simulation = Simulation(items, configuration, REGISTRY)
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
