"""Over generated networks: a sub-group is placed whole and within its limit, and no job waits that could start.

What could start is worked out here by trying every domain for the job and for each of its sub-groups.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Final

from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.support.placement.networks import ACTIONS, disturbed, domains_of, networks, restarted, simulation_of
from volcano_py.api.objects import Node, Pod, PodGroup
from volcano_py.cluster.manifests import Document, stored
from volcano_py.simulation import Simulation

_EXAMPLES: Final = max(25, settings().max_examples - 5)
_PART: Final = "volcano.sh/partition-id"
_TOPOLOGIES: Final = ({"highestTierAllowed": 1}, {"highestTierAllowed": 2}, {"mode": "soft"}, None)
Domains = Mapping[str, tuple[int, frozenset[str]]]


@st.composite
def divided_gangs(draw: st.DrawFn, most: int = 2, *, alike: bool = False, tight: bool = False) -> list[dict[str, Any]]:
    """Jobs with up to four sub-groups, and perhaps a pod in none. `alike`: all sub-groups of a job are as large.
    `tight`: they have two pods or more, need all of them, and one sub-group is enough for the job."""
    objects: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, most))):
        sizes = draw(st.lists(st.integers(2 if tight else 1, 3), min_size=1 + tight, max_size=4))
        if alike or tight:
            sizes = sizes[:1] * len(sizes)
        size = sizes[0] if tight else draw(st.integers(1, min(sizes)))
        parts = [str(part) for part, count in enumerate(sizes) for _ in range(count)] + draw(
            st.sampled_from([[]] if tight else [[], [""]])
        )
        policy: dict[str, Any] = {"name": "p", "matchLabelKeys": [_PART], "subGroupSize": size}
        policy["minSubGroups"] = draw(st.integers(0, 1 if tight else len(sizes)))
        spec: dict[str, Any] = {
            "minMember": draw(st.integers(1, 1 if tight else len(parts))),
            "subGroupPolicy": [policy],
        }
        spec["priorityClassName"] = draw(st.sampled_from(["low", "high"]))
        for holder in (spec, policy):
            if (topology := draw(st.sampled_from(_TOPOLOGIES))) is not None:
                holder["networkTopology"] = topology
        name, cpu = f"g{number}", str(draw(st.integers(1, 2)))
        objects.append({"kind": "PodGroup", "metadata": {"name": name}, "spec": spec})
        for index, part in enumerate(parts):
            meta = {"name": f"{name}-{index}", "annotations": {"scheduling.k8s.io/group-name": name}}
            labels = {_PART: part} if part else {}
            containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
            body = {
                "schedulerName": "volcano",
                "containers": containers,
                "priorityClassName": spec["priorityClassName"],
            }
            objects.append({"kind": "Pod", "metadata": {**meta, "labels": labels}, "spec": body})
    return objects


def _limit(topology: Mapping[str, Any] | None, domains: Domains) -> int:
    top = domains[""][0]
    return top if topology is None or topology.get("mode") == "soft" else min(int(topology["highestTierAllowed"]), top)


def _parts(simulation: Simulation, group: PodGroup) -> dict[str, list[Pod]]:
    found: dict[str, list[Pod]] = {}
    for pod in simulation.cluster.objects("Pod", Pod):
        if pod.metadata.annotations["scheduling.k8s.io/group-name"] == group.metadata.name:
            found.setdefault(pod.metadata.labels.get(_PART, ""), []).append(pod)
    return found


def _held(pods: Sequence[Pod], nodes: frozenset[str]) -> set[str]:
    """Of these nodes, which exist."""
    return {pod.spec.node_name for pod in pods if pod.metadata.deletion_timestamp is None} & nodes


def _is_within(held: set[str], limit: int, domains: Domains) -> bool:
    return not held or any(held <= nodes for tier, nodes in domains.values() if tier <= limit)


def _check_limits(simulation: Simulation) -> None:
    domains = domains_of(simulation)
    _, nodes = domains[""]
    for group in simulation.cluster.objects("PodGroup", PodGroup):
        parts, (policy,) = _parts(simulation, group), group.spec.sub_group_policy
        everywhere = set[str]().union(*(_held(pods, nodes) for pods in parts.values()))
        assert _is_within(everywhere, _limit(group.spec.network_topology, domains), domains), group.metadata.name
        for part, pods in parts.items():
            limit = _limit(policy.get("networkTopology"), domains)
            assert not part or _is_within(_held(pods, nodes), limit, domains), f"{group.metadata.name} {part}"


@settings(max_examples=_EXAMPLES)
@given(networks(), divided_gangs(), st.sampled_from(ACTIONS), st.data())
def test_no_pod_leaves_the_domain_of_its_sub_group_whatever_happens(
    network: list[dict[str, Any]], jobs: list[dict[str, Any]], actions: str, data: st.DataObject
) -> None:
    simulation = simulation_of([*network, *jobs], actions)
    for _ in range(data.draw(st.integers(2, 5))):
        simulation.step()
        _check_limits(simulation)
        assert not any(report.plugin_errors or report.action_errors for report in simulation.reports)
        happens, simulation = disturbed(simulation, network, data)
        event(happens)
    assert simulation.state.drift() == 0


@settings(max_examples=_EXAMPLES)
@given(networks(), divided_gangs(most=3), divided_gangs(most=2), st.sampled_from(ACTIONS[1:]))
def test_no_eviction_tears_a_sub_group_or_leaves_a_job_with_too_few(
    network: list[dict[str, Any]], jobs: list[dict[str, Any]], later: list[dict[str, Any]], actions: str
) -> None:
    simulation = simulation_of([*network, *jobs], actions)
    simulation.step()
    renamed = json.loads(json.dumps(later).replace('"g', '"h'))
    for kind, item in stored([Document("later", number, body) for number, body in enumerate(renamed)]):
        simulation.cluster.put(kind, item)
    for _ in range(6):
        simulation.step()
        _check_limits(simulation)
        for group in simulation.cluster.objects("PodGroup", PodGroup):
            (policy,) = group.spec.sub_group_policy
            held = {
                part: sum(bool(pod.spec.node_name) and pod.metadata.deletion_timestamp is None for pod in pods)
                for part, pods in _parts(simulation, group).items()
            }
            if not any(held.values()):
                continue
            complete = sum(count >= policy["subGroupSize"] for part, count in held.items() if part)
            assert all(count == 0 or count >= policy["subGroupSize"] for part, count in held.items() if part), held
            assert complete >= policy["minSubGroups"], f"{group.metadata.name}: {held}"
            assert sum(held.values()) >= group.spec.min_member, f"{group.metadata.name}: {held}"
    event("something was evicted" if simulation.cluster.evictions else "nothing was evicted")


@settings(max_examples=_EXAMPLES)
@given(networks(), divided_gangs(most=1, alike=True))
def test_a_job_starts_wherever_a_look_at_all_domains_finds_room(
    network: list[dict[str, Any]], jobs: list[dict[str, Any]]
) -> None:
    simulation = simulation_of([*network, *jobs])
    simulation.run()
    _check_limits(simulation)
    (group,) = simulation.cluster.objects("PodGroup", PodGroup)
    (policy,) = group.spec.sub_group_policy
    parts, domains = _parts(simulation, group), domains_of(simulation)
    placed = {part: sum(bool(pod.spec.node_name) for pod in pods) for part, pods in parts.items()}
    for part, count in placed.items():
        assert count in (0, len(parts[part])), f"sub-group {part} is whole, or has nothing"
    cpu = int(next(iter(parts.values()))[0].spec.containers[0].resources.requests["cpu"])
    nodes = simulation.cluster.objects("Node", Node)
    room = {node.metadata.name: int(node.status.allocatable["cpu"]) // cpu for node in nodes}
    started = sum(placed.values()) > 0
    event("it starts" if started else "it waits")
    assert started == _could_start(group, policy, parts, domains, room)


@settings(max_examples=_EXAMPLES)
@given(networks(), divided_gangs(most=1, tight=True), st.data())
def test_a_pod_that_comes_back_finds_its_place_whatever_its_job_waits_for(
    network: list[dict[str, Any]], jobs: list[dict[str, Any]], data: st.DataObject
) -> None:
    """Between the end of the pod and its creation, the sub-groups of its job that wait have a cycle for themselves."""
    simulation = simulation_of([*network, *jobs])
    simulation.run()
    placed = sorted(pod.metadata.key for pod in simulation.cluster.objects("Pod", Pod) if pod.spec.node_name)
    waits = len(placed) < len(jobs) - 1
    event(f"{'sub-groups wait' if waits else 'none waits'}, {'some run' if placed else 'none runs'}")
    if not placed:
        return
    gone = data.draw(st.sampled_from(placed))
    (manifest,) = [each for each in jobs if each["kind"] == "Pod" and f"default/{each['metadata']['name']}" == gone]
    simulation.cluster.remove("Pod", gone)
    simulation.step()
    if data.draw(st.booleans()):
        simulation = restarted(simulation, network)
    for kind, item in stored([Document("again", 0, manifest)]):
        simulation.cluster.put(kind, item)
    simulation.run()
    _check_limits(simulation)
    (pod,) = [pod for pod in simulation.cluster.objects("Pod", Pod) if pod.metadata.key == gone]
    assert pod.spec.node_name, f"{gone} has no place"


def _could_start(
    group: PodGroup,
    policy: Mapping[str, Any],
    parts: Mapping[str, Sequence[Pod]],
    domains: Domains,
    room: Mapping[str, int],
) -> bool:
    """Whether there are domains for the job and for enough of its sub-groups. Domains are nested, so it is enough that
    none has to hold more than fits."""
    names, loose = [part for part in parts if part], len(parts.get("", ()))
    for tier, outer in domains.values():
        if tier > _limit(group.spec.network_topology, domains):
            continue
        limit = _limit(policy.get("networkTopology"), domains)
        inner = [name for name, (inner_tier, nodes) in domains.items() if inner_tier <= limit and nodes <= outer]
        for choice in product(["none", *inner], repeat=len(names)):
            chosen = dict(zip(names, choice, strict=True))
            demand = Counter[str]()
            for part, name in chosen.items():
                if name != "none":
                    demand[name] += len(parts[part])
            complete = sum(name != "none" for name in chosen.values())
            fits = all(
                sum(count for name, count in demand.items() if domains[name][1] <= nodes)
                <= sum(room[node] for node in nodes)
                for _, nodes in domains.values()
            )
            spare = sum(room[node] for node in outer) - demand.total()
            pods = demand.total() + min(loose, spare)
            if fits and complete >= policy["minSubGroups"] and pods >= group.spec.min_member:
                return True
    return False
