"""Over generated networks: no pod breaks a hard limit, and no gang waits that a look at every domain finds room for.

Domains and limits are worked out here from the objects alone, in the most obvious way.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.support.placement.networks import (
    ACTIONS,
    PRIORITIES,
    RECLAIM,
    disturbed,
    domains_of,
    networks,
    simulation_of,
)
from volcano_py.api.objects import Node, Pod, PodGroup
from volcano_py.simulation import Simulation

_SECOND: Final = "second"
_EXAMPLES: Final = max(25, settings().max_examples - 5)


@st.composite
def gangs(draw: st.DrawFn, most: int = 4, *, elastic: bool = True) -> list[dict[str, Any]]:
    """Gangs that wait, with hard limits of any tier, or soft, or none."""
    objects: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, most))):
        pods = draw(st.integers(1, 5))
        minimum = draw(st.integers(1, pods)) if elastic else pods
        topology = draw(st.sampled_from([{"highestTierAllowed": tier} for tier in range(4)] + [{"mode": "soft"}, None]))
        priority = draw(st.sampled_from(list(PRIORITIES)))
        cpu = draw(st.integers(0 if elastic else 1, 2))
        spec: dict[str, Any] = {"minMember": minimum, "priorityClassName": priority}
        if topology is not None:
            spec["networkTopology"] = topology
        name = f"g{number}"
        objects.append({"kind": "PodGroup", "metadata": {"name": name}, "spec": spec})
        for index in range(pods):
            requests = {"cpu": str(cpu)} if cpu else {}
            pod_spec = {
                "schedulerName": "volcano",
                "priorityClassName": priority,
                "containers": [{"name": "c", "resources": {"requests": requests}}],
            }
            meta = {"name": f"{name}-{index}", "annotations": {"scheduling.k8s.io/group-name": name}}
            objects.append({"kind": "Pod", "metadata": meta, "spec": pod_spec})
    return objects


def _limit(group: PodGroup, domains: dict[str, tuple[int, frozenset[str]]]) -> int:
    topology = group.spec.network_topology or {"mode": "soft"}
    return int(topology.get("highestTierAllowed", domains[""][0])) if topology.get("mode") != "soft" else domains[""][0]


def _where(simulation: Simulation, group: PodGroup, nodes: frozenset[str]) -> list[str]:
    """Nodes of the group's pods that are placed and not leaving."""
    return [
        pod.spec.node_name
        for pod in simulation.cluster.objects("Pod", Pod)
        if pod.metadata.annotations.get("scheduling.k8s.io/group-name") == group.metadata.name
        and pod.spec.node_name in nodes
        and pod.metadata.deletion_timestamp is None
    ]


def _check_limits(simulation: Simulation) -> None:
    domains = domains_of(simulation)
    for group in simulation.cluster.objects("PodGroup", PodGroup):
        held = set(_where(simulation, group, domains[""][1]))
        allowed = [nodes for tier, nodes in domains.values() if tier <= _limit(group, domains)]
        assert not held or any(held <= nodes for nodes in allowed), f"{group.metadata.name} is on {sorted(held)}"


def _in_two_queues(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every other gang is in a queue of its own."""
    groups = [each for each in jobs if each["kind"] == "PodGroup"]
    for group in groups[1::2]:
        group["spec"]["queue"] = _SECOND
    return [{"kind": "Queue", "metadata": {"name": _SECOND}, "spec": {"weight": 1}}, *jobs]


@settings(max_examples=_EXAMPLES)
@given(networks(), gangs(), st.sampled_from((*ACTIONS, *RECLAIM)), st.data())
def test_no_pod_breaks_a_hard_limit_whatever_happens(
    network: list[dict[str, Any]], jobs: list[dict[str, Any]], actions: str, data: st.DataObject
) -> None:
    """Pods finish or are lost with their node, at once or later, and the scheduler may start again in between."""
    if actions in RECLAIM:
        jobs = _in_two_queues(jobs)
    simulation = simulation_of([*network, *jobs], actions)
    for number in range(data.draw(st.integers(2, 6))):
        simulation.step()
        _check_limits(simulation)
        assert not any(report.plugin_errors or report.action_errors for report in simulation.reports)
        happens, simulation = disturbed(simulation, network, data)
        event(f"{happens} at step {number}")
    assert simulation.state.drift() == 0


@settings(max_examples=_EXAMPLES)
@given(networks(), gangs(elastic=False), st.booleans())
def test_no_gang_waits_that_a_look_at_every_domain_finds_room_for(
    network: list[dict[str, Any]], jobs: list[dict[str, Any]], balance: bool
) -> None:
    simulation = simulation_of([*network, *jobs], ACTIONS[0], balance=balance)
    simulation.run()
    _check_limits(simulation)
    domains = domains_of(simulation)
    pods = simulation.cluster.objects("Pod", Pod)
    free = {
        node.metadata.name: int(node.status.allocatable["cpu"])
        - sum(_cpu(pod) for pod in pods if pod.spec.node_name == node.metadata.name)
        for node in simulation.cluster.objects("Node", Node)
    }
    for group in simulation.cluster.objects("PodGroup", PodGroup):
        own = [pod for pod in pods if pod.metadata.name.startswith(f"{group.metadata.name}-")]
        held = _where(simulation, group, domains[""][1])
        assert len(held) in (0, len(own)), "a gang is whole, or has nothing"
        if not held:
            event("a gang waits")
            for tier, nodes in domains.values():
                room = sum(free[node] // _cpu(own[0]) for node in nodes)
                assert tier > _limit(group, domains) or room < len(own), f"{group.metadata.name} fits {sorted(nodes)}"


@settings(max_examples=_EXAMPLES)
@given(networks(), gangs(most=1, elastic=False))
def test_the_narrowest_tier_with_room_wins(network: list[dict[str, Any]], jobs: list[dict[str, Any]]) -> None:
    simulation = simulation_of([*network, *jobs], ACTIONS[0])
    domains = domains_of(simulation)
    (group,) = simulation.cluster.objects("PodGroup", PodGroup)
    if group.spec.network_topology is None:
        return
    pods = simulation.cluster.objects("Pod", Pod)
    size = {
        node.metadata.name: int(node.status.allocatable["cpu"]) for node in simulation.cluster.objects("Node", Node)
    }
    fitting = [
        tier
        for tier, nodes in domains.values()
        if tier <= _limit(group, domains) and sum(size[node] // _cpu(pods[0]) for node in nodes) >= len(pods)
    ]
    simulation.run()
    held = set(_where(simulation, group, domains[""][1]))
    assert bool(held) == bool(fitting)
    if held:
        assert min(tier for tier, nodes in domains.values() if held <= nodes) <= min(fitting)


def _cpu(pod: Pod) -> int:
    return int(pod.spec.containers[0].resources.requests["cpu"])
