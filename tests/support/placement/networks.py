"""Generated networks for property tests: small trees of HyperNodes, and a simulation on them."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from tests.support.registries import checked_registry
from volcano_py.api.hyper_nodes import HyperNode
from volcano_py.api.objects import Node, Pod, PodGroup, Queue
from volcano_py.cluster.manifests import Document, stored
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

_CONF: Final = """
actions: "{actions}"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}]
- plugins: [{{name: predicates}}, {{name: nodeorder}}, {{name: network-topology-aware{arguments}}}{more}]
"""
ACTIONS: Final = (
    "enqueue, allocate, backfill",
    "enqueue, allocate, preempt, backfill",
    "enqueue, allocate, backfill, gangpreempt",
    "enqueue, preempt, allocate",
)
RECLAIM: Final = ("enqueue, allocate, reclaim, backfill", "enqueue, allocate, backfill, gangreclaim")
"""With two queues that share the cluster."""
PRIORITIES: Final = {"low": 1, "high": 100}


@st.composite
def networks(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Nodes in a tree of two tiers, some outside of it."""
    objects: list[dict[str, Any]] = []
    racks: dict[str, list[str]] = {}
    for number in range(draw(st.integers(2, 8))):
        name = f"n{number}"
        status = {"allocatable": {"cpu": str(draw(st.integers(1, 4))), "memory": "64Gi", "pods": "20"}}
        objects.append({"kind": "Node", "metadata": {"name": name}, "status": status})
        rack = draw(st.sampled_from(["r0", "r1", "r2", ""]))
        if rack:
            racks.setdefault(rack, []).append(name)
    spines: dict[str, list[str]] = {}
    for rack, nodes in racks.items():
        objects.append(_hyper_node(rack, 1, "Node", nodes))
        if spine := draw(st.sampled_from(["s0", "s1", ""])):
            spines.setdefault(spine, []).append(rack)
    objects += [_hyper_node(spine, 2, "HyperNode", below) for spine, below in spines.items()]
    objects += [
        {"kind": "PriorityClass", "metadata": {"name": name}, "value": value} for name, value in PRIORITIES.items()
    ]
    return objects


def _hyper_node(name: str, tier: int, kind: str, members: list[str]) -> dict[str, Any]:
    selectors = [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members]
    spec = {"tier": tier, "members": selectors}
    api = "topology.volcano.sh/v1alpha1"
    return {"apiVersion": api, "kind": "HyperNode", "metadata": {"name": name}, "spec": spec}


def simulation_of(objects: list[dict[str, Any]], actions: str = ACTIONS[0], *, balance: bool = False) -> Simulation:
    """With these objects, actions and the plugin that keeps jobs together."""
    registry = checked_registry()
    more = ", {name: proportion}" if actions in RECLAIM else ""
    arguments = ", arguments: {network-topology-aware.balance: true}" if balance else ""
    config = parse_configuration(
        _CONF.format(actions=actions, arguments=arguments, more=more), registry.catalogue()
    ).config
    assert config is not None
    return Simulation(stored([Document("made", n, each) for n, each in enumerate(objects)]), config, registry)


def domains_of(simulation: Simulation) -> dict[str, tuple[int, frozenset[str]]]:
    """Name → tier and nodes of every domain, the root with ""."""
    nodes = frozenset(node.metadata.name for node in simulation.cluster.objects("Node", Node))
    found: dict[str, tuple[int, frozenset[str]]] = {}
    for each in sorted(simulation.cluster.objects("HyperNode", HyperNode), key=lambda each: each.spec.tier):
        members = [member.selector.exact_match for member in each.spec.members]
        named = [match.name for match in members if match is not None]
        held = (
            frozenset(named) & nodes
            if each.spec.tier == 1
            else frozenset[str]().union(*(found[name][1] for name in named))
        )
        found[each.metadata.name] = (each.spec.tier, held)
    found[""] = (max((tier for tier, _ in found.values()), default=0) + 1, nodes)
    return found


def disturbed(simulation: Simulation, network: list[dict[str, Any]], data: st.DataObject) -> tuple[str, Simulation]:
    """Something that happens to a cluster, and the simulation to go on with."""
    happens = data.draw(st.sampled_from(["nothing", "a node dies", "a node is gone", "pods go", "restart"]))
    nodes = simulation.cluster.objects("Node", Node)
    pods = [pod for pod in simulation.cluster.objects("Pod", Pod) if pod.spec.node_name]
    if happens in ("a node dies", "a node is gone") and len(nodes) > 1:
        dead = data.draw(st.sampled_from(sorted(node.metadata.name for node in nodes)))
        simulation.cluster.remove("Node", dead)
        for pod in pods:
            if happens == "a node dies" and pod.spec.node_name == dead:
                simulation.cluster.remove("Pod", pod.metadata.key)
    elif happens == "pods go" and pods:
        gone = data.draw(st.sampled_from(sorted(pod.metadata.key for pod in pods)))
        simulation.cluster.remove("Pod", gone)
    elif happens == "restart":
        simulation = restarted(simulation, network)
    return happens, simulation


def restarted(simulation: Simulation, network: list[dict[str, Any]]) -> Simulation:
    """A scheduler that knows of the cluster only what the objects say."""
    kinds = (("Node", Node), ("HyperNode", HyperNode), ("Queue", Queue), ("PodGroup", PodGroup), ("Pod", Pod))
    items = [(kind, each) for kind, of in kinds for each in simulation.cluster.objects(kind, of)]
    classes = [Document("made", n, each) for n, each in enumerate(network) if each["kind"] == "PriorityClass"]
    return Simulation([*stored(classes), *items], simulation.configuration, checked_registry())
