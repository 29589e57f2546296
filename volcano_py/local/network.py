"""A simulated network: spines of racks of nodes, as manifests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from volcano_py.api.names import TOPOLOGY_API
from volcano_py.local.nodes import DEFAULT_ALLOCATABLE

SPINE_LABEL: Final = "example.com/spine"
RACK_LABEL: Final = "example.com/rack"
"""Labels of the nodes. A rack has its number within its spine, so that both say where a node is."""


def network(spines: int, racks: int, nodes: int) -> Iterator[dict[str, Any]]:
    """So many spines, of so many racks each, of so many nodes each: Nodes and HyperNodes.

    Racks are of tier 1 and select their nodes by labels, spines are of tier 2.
    """
    for spine in range(1, spines + 1):
        spine_name = f"spine-{spine}"
        names = [f"{spine_name}-rack-{rack}" for rack in range(1, racks + 1)]
        for rack, name in enumerate(names, 1):
            labels = {SPINE_LABEL: spine_name, RACK_LABEL: f"rack-{rack}"}
            for number in range(1, nodes + 1):
                yield _node(f"{name}-node-{number}", labels)
            yield _hyper_node(name, 1, "rack", {"type": "Node", "selector": {"labelMatch": {"matchLabels": labels}}})
        members = [{"type": "HyperNode", "selector": {"exactMatch": {"name": name}}} for name in names]
        yield _hyper_node(spine_name, 2, "spine", *members)


def _node(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels)},
        "status": {"allocatable": dict(DEFAULT_ALLOCATABLE)},
    }


def _hyper_node(name: str, tier: int, tier_name: str, *members: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": TOPOLOGY_API,
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": tier, "tierName": tier_name, "members": list(members)},
    }
