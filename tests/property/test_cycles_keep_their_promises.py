"""Whatever the cluster: no node is over-committed, no gang is bound in part, no pod waits next to free room, and it all
ends.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.clusters import Cluster, clusters
from tests.support.registries import checked_registry
from volcano_py.api.objects import Node, Pod
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.simulation import Simulation, SimulationResult
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.table.ledger import Ledger

REGISTRY = checked_registry()
# More cycles than any of these clusters needs: each one binds a pod or ends the run.
ENOUGH = 40
# Each example is a whole run; the profile `deep` makes many of them.
FEW = settings(max_examples=settings().max_examples // 3)

PLAIN = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: nodeorder
"""
NO_ENQUEUE = """
actions: "allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: drf
  - name: predicates
  - name: binpack
"""


def configured(text: str) -> SchedulerConfiguration:
    parsed = parse_configuration(text, REGISTRY.catalogue())
    assert parsed.config is not None, parsed.problems
    return parsed.config


DEFAULT = configured(default_configuration_text())
CONFIGURATIONS = [
    pytest.param(DEFAULT, id="default"),
    pytest.param(configured(PLAIN), id="gang and predicates"),
    pytest.param(configured(NO_ENQUEUE), id="no enqueue, drf, binpack"),
]


def milli(pod: Pod) -> int:
    return 1000 * int(pod.spec.containers[0].resources.requests.get("cpu", 0))


def check_nodes(simulation: Simulation) -> None:
    """No node holds more than it offers."""
    pods = [pod for pod in simulation.cluster.objects("Pod", Pod) if pod.spec.node_name]
    for node in simulation.cluster.objects("Node", Node):
        held = [pod for pod in pods if pod.spec.node_name == node.metadata.name]
        assert sum(milli(pod) for pod in held) <= 1000 * int(node.status.allocatable["cpu"]), node.metadata.name
        assert len(held) <= int(node.status.allocatable["pods"]), node.metadata.name
        tolerated = {pod.metadata.name for pod in held if pod.spec.scheduler_name == "volcano"}
        assert not (node.spec.taints and tolerated), f"{tolerated} on a tainted node"
        for pod in held:
            assert pod.spec.node_selector.items() <= node.metadata.labels.items()


def check_gangs(simulation: Simulation, cluster: Cluster) -> None:
    """Of every job nothing is bound, or at least its minimum."""
    bound: Counter[str] = Counter()
    for pod in simulation.cluster.objects("Pod", Pod):
        if pod.spec.node_name and pod.spec.scheduler_name == "volcano":
            bound[pod.metadata.name.partition("-")[0]] += 1
    for job in cluster.jobs:
        assert bound[job.name] == 0 or bound[job.name] >= job.minimum, f"{job.name}: {bound[job.name]} bound"
        assert job.pods >= job.minimum or not bound[job.name]


def run(cluster: Cluster, configuration: SchedulerConfiguration) -> tuple[Simulation, SimulationResult]:
    simulation = Simulation(cluster.stored(), configuration, REGISTRY)
    for _ in range(ENOUGH):
        moved = simulation.step()
        check_nodes(simulation)
        check_gangs(simulation, cluster)
        assert simulation.state.drift() == 0
        assert not simulation.reports[-1].plugin_errors
        if not moved:
            break
    else:
        pytest.fail("the cluster does not come to rest")
    return simulation, simulation.run(0)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@FEW
@given(cluster=clusters())
def test_every_cycle_keeps_every_promise(configuration: SchedulerConfiguration, cluster: Cluster) -> None:
    run(cluster, configuration)


@FEW
@given(cluster=clusters())
def test_no_pod_waits_for_nodes_while_a_node_has_room(cluster: Cluster) -> None:
    """With gang and predicates alone nothing else can keep a pod out whose gang may be one pod."""
    simulation, result = run(cluster, configured(PLAIN))
    free = {
        node.metadata.name: [1000 * int(node.status.allocatable["cpu"]), int(node.status.allocatable["pods"])]
        for node in simulation.cluster.objects("Node", Node)
    }
    for pod in simulation.cluster.objects("Pod", Pod):
        if pod.spec.node_name:
            free[pod.spec.node_name][0] -= milli(pod)
            free[pod.spec.node_name][1] -= 1
    nodes = {node.metadata.name: node for node in cluster.nodes if not node.spec.taints}
    single = {job.name for job in cluster.jobs if job.minimum <= 1 <= job.pods}
    for pod in simulation.cluster.objects("Pod", Pod):
        if pod.metadata.key in result.unschedulable and pod.metadata.name.partition("-")[0] in single:
            roomy = [
                name
                for name, node in nodes.items()
                if free[name][0] >= milli(pod)
                and free[name][1] > 0
                and pod.spec.node_selector.items() <= node.metadata.labels.items()
            ]
            assert not roomy, f"{pod.metadata.name} waits while {roomy} have room"


def image(result: SimulationResult) -> dict[str, Any]:
    reported: dict[str, Any] = result.as_json()
    for group in reported["podGroups"].values():
        for condition in group["conditions"]:
            condition.pop("transitionID", None)
    return reported


@FEW
@given(cluster=clusters(), rng=st.randoms(use_true_random=False))
def test_the_order_in_which_objects_are_listed_decides_nothing(cluster: Cluster, rng: Any) -> None:
    _, expected = run(cluster, DEFAULT)
    listed = cluster.stored()
    rng.shuffle(listed)
    shuffled = Simulation(listed, DEFAULT, REGISTRY).run()
    assert shuffled.binds == expected.binds
    assert image(shuffled) == {
        **image(expected),
        "binds": dict(shuffled.binds),
    }


@FEW
@given(cluster=clusters())
def test_the_same_cluster_comes_to_the_same_end(cluster: Cluster) -> None:
    one, other = (Simulation(cluster.stored(), DEFAULT, REGISTRY).run() for _ in range(2))
    assert image(one) == image(other)
    assert one.cycles == other.cycles


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@FEW
@given(cluster=clusters())
def test_what_is_kept_of_a_cycle_is_not_in_its_tables(configuration: SchedulerConfiguration, cluster: Cluster) -> None:
    """The next cycle uses them again: after each, they are filled with nonsense."""
    expected = Simulation(cluster.stored(), configuration, REGISTRY).run(ENOUGH)
    simulation = Simulation(cluster.stored(), configuration, REGISTRY)
    for _ in range(ENOUGH):
        simulation.step()
        assert simulation._used is not None
        assert simulation._scheduler._used is not None
        fill_with_nonsense(simulation._used.ledger)
        fill_with_nonsense(simulation._scheduler._used)
    assert image(simulation.result(settled=True)) == image(expected)


def fill_with_nonsense(ledger: Ledger) -> None:
    for table in (ledger.nodes, ledger.tasks, ledger.jobs, ledger.queues, ledger.classes):
        columns = table.change(slice(None))
        for name in table.columns:
            column = getattr(columns, name)
            if column.flags.writeable:  # (others are shared)
                column[:] = 77


@FEW
@given(cluster=clusters())
def test_the_end_is_what_a_scheduler_that_starts_there_would_leave_as_it_is(cluster: Cluster) -> None:
    """After a restart nothing is bound, moved or reported again."""
    simulation, result = run(cluster, DEFAULT)
    kinds = ("Node", "Queue", "PodGroup", "Pod")
    everything = [(kind, obj) for kind in kinds for obj in simulation.cluster._objects.get(kind, {}).values()]
    again = Simulation(everything, DEFAULT, REGISTRY)
    after = again.run()
    assert dict(after.binds) == {}
    assert again.cluster.events == []
    assert {name: group["phase"] for name, group in after.pod_groups.items()} == {
        name: group["phase"] for name, group in result.pod_groups.items()
    }
    assert dict(after.unschedulable) == dict(result.unschedulable)


@FEW
@given(cluster=clusters())
def test_every_waiting_pod_has_a_reason(cluster: Cluster) -> None:
    _, result = run(cluster, DEFAULT)
    for pod, message in result.unschedulable.items():
        reason, _, sentence = message.partition(": ")
        assert reason.isalpha(), f"{pod}: {message!r}"
        assert sentence
    waiting = {name.rpartition("-")[0] for name in result.unschedulable}
    for name in waiting:
        group = result.pod_groups[name]
        assert group["conditions"], f"{name} waits, and nothing is said of it"


@FEW
@given(cluster=clusters(most_jobs=4))
def test_the_sums_of_queues_follow_from_the_pods(cluster: Cluster) -> None:
    simulation, result = run(cluster, DEFAULT)
    fresh = ClusterState()
    for kind in ("Node", "Queue", "PodGroup", "Pod"):
        fresh.replace(kind, list(simulation.cluster._objects.get(kind, {}).values()))
    assert fresh.drift() == 0
    held: Counter[str] = Counter()
    queue_of = {job.name: job.queue for job in cluster.jobs}
    for pod in simulation.cluster.objects("Pod", Pod):
        if pod.spec.node_name and pod.spec.scheduler_name == "volcano":
            held[queue_of[pod.metadata.name.partition("-")[0]]] += milli(pod) // 1000
    for name, queue in result.queues.items():
        assert int(queue["allocated"].get("cpu", 0)) == held[name], name
