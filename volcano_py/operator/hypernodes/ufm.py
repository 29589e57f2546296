"""HyperNodes from UFM, NVIDIA's manager of InfiniBand networks: what its list of ports says about who is connected.

A port of a computer names the machine and the switch at its other end, the leaf. Leaves that share a machine are one
HyperNode of tier 1, as traffic between them need not go higher; all of them are below one HyperNode of tier 2.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from volcano_py.api.effects import JsonObject
from volcano_py.api.names import TOPOLOGY_API
from volcano_py.operator.hypernodes.sources import SOURCE_LABEL, UFM

SPINE: Final = "spine-hn"
"""Volcano's name of the HyperNode above all leaves."""
_OF_COMPUTERS: Final = "Computer"
"""Found in the description of a port of a computer."""


class Port(msgspec.Struct):
    """What counts of one port, as UFM's REST API names it: the machine, and the switch that it is connected to."""

    description: str | None = ""
    system_name: str | None = ""
    peer_node_name: str | None = ""


def hyper_nodes_of_ports(ports: Iterable[Port], nodes: Collection[str]) -> dict[str, JsonObject]:
    """Name → HyperNode. Machines that are not among the cluster's `nodes` are left out, and leaves without any.

    A leaf's name follows from the first of its switches by name, so that another leaf renames none. (Volcano numbers
    them, so one more leaf renames those behind it.)
    """
    leaves = [(switches, machines & set(nodes)) for switches, machines in _leaves(ports)]
    found = {
        _leaf_name(switches): _body(_leaf_name(switches), 1, "leaf", "Node", machines)
        for switches, machines in leaves
        if machines
    }
    return {**found, SPINE: _body(SPINE, 2, "spine", "HyperNode", found)} if found else {}


def _leaves(ports: Iterable[Port]) -> list[tuple[set[str], set[str]]]:
    """Switches and machines of each leaf: switches are of one leaf when they share a machine."""
    machines_of: defaultdict[str, set[str]] = defaultdict(set)
    switches_of: defaultdict[str, set[str]] = defaultdict(set)
    for port in ports:
        if _OF_COMPUTERS in (port.description or "") and port.system_name and port.peer_node_name:
            machines_of[port.peer_node_name].add(port.system_name)
            switches_of[port.system_name].add(port.peer_node_name)
    found: list[tuple[set[str], set[str]]] = []
    seen: set[str] = set()
    for first in sorted(machines_of):
        if first in seen:
            continue
        switches, machines, left = {first}, set[str](), [first]
        while left:
            for machine in machines_of[left.pop()] - machines:
                machines.add(machine)
                left.extend(switches_of[machine] - switches)
                switches |= switches_of[machine]
        seen |= switches
        found.append((switches, machines))
    return found


def _leaf_name(switches: Collection[str]) -> str:
    return f"leaf-hn-{hashlib.sha256(min(switches).encode()).hexdigest()[:10]}"


def _body(name: str, tier: int, tier_name: str, kind: str, members: Iterable[str]) -> JsonObject:
    listed: list[Mapping[str, Any]] = [
        {"type": kind, "selector": {"exactMatch": {"name": each}}} for each in sorted(members)
    ]
    return {
        "apiVersion": TOPOLOGY_API,
        "kind": "HyperNode",
        "metadata": {"name": name, "labels": {SOURCE_LABEL: UFM}},
        "spec": {"tier": tier, "tierName": tier_name, "members": listed},
    }
