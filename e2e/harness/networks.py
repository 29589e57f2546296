"""HyperNodes to create."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

HYPER_NODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
BY_RACKS = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: nodeorder}, {name: network-topology-aware}]
"""
"""A configuration that keeps jobs in their racks."""


def exact(name: str, kind: str = "Node", **more: Any) -> dict[str, Any]:
    """A member by name; `more` selectors make it a wrong one."""
    return {"type": kind, "selector": {"exactMatch": {"name": name}, **more}}


def regex(pattern: str, kind: str = "Node") -> dict[str, Any]:
    """Members whose names match."""
    return {"type": kind, "selector": {"regexMatch": {"pattern": pattern}}}


def label(kind: str = "Node", **labels: str) -> dict[str, Any]:
    """Members with these labels."""
    return {"type": kind, "selector": {"labelMatch": {"matchLabels": labels}}}


def hyper_node(name: str, *members: Any, tier: Any = 1, **spec: Any) -> dict[str, Any]:
    """A HyperNode with these members."""
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": tier, "members": list(members), **spec},
    }


def rack(name: str, nodes: Iterable[str]) -> dict[str, Any]:
    """A HyperNode of tier 1 with these nodes."""
    return hyper_node(name, *map(exact, nodes), tierName="rack")
