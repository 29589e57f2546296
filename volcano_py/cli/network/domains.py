"""The domains of the network with what they have, what is in use, and the jobs in them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from volcano_py.api.report import Amounts
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.snapshot import Snapshot
from volcano_py.state.status import ON_NODE_STATUSES
from volcano_py.state.table.units import canonical
from volcano_py.state.topology.hyper_nodes import Fault
from volcano_py.state.topology.tree import ROOT, Tree, build

WHOLE: Final = "the whole cluster"


@dataclass(frozen=True, slots=True)
class Domain:
    """One HyperNode, or the whole cluster, whose name is "".

    Attributes:
        parent: the domain above; the whole cluster has itself.
        depth: how many domains are above it.
        nodes: nodes in it and in all below it.
        free, allocatable: whole units by resource; free is negative where a node shrank.
        jobs: PodGroups, as NAMESPACE/NAME, whose placed pods are all in it, but not in one below it.
    """

    name: str
    tier: int
    tier_name: str
    parent: str
    depth: int
    nodes: int
    allocatable: Amounts
    free: Amounts
    jobs: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Amounts are Kubernetes quantities."""
        return {
            "name": self.name,
            "parent": self.parent,
            "depth": self.depth,
            "tier": self.tier,
            "tierName": self.tier_name,
            "nodes": self.nodes,
            "allocatable": {name: canonical(name, units) for name, units in self.allocatable.items()},
            "free": {name: canonical(name, units) for name, units in self.free.items()},
            "jobs": list(self.jobs),
        }


@dataclass(frozen=True, slots=True)
class Network:
    """All domains, depth-first, and what is wrong with the tree."""

    domains: tuple[Domain, ...]
    faults: tuple[Fault, ...]

    def as_json(self) -> dict[str, Any]:
        """The whole cluster is the domain without a name."""
        return {
            "domains": [domain.as_json() for domain in self.domains],
            "faults": [{"name": each.name, "reason": each.reason, "message": each.message} for each in self.faults],
        }


def network_of(snapshot: Snapshot) -> Network:
    """The tree over the nodes of the snapshot."""
    ledger = snapshot.ledger
    nodes = ledger.nodes
    tree = build(snapshot.hyper_nodes, NodeIndex(snapshot.nodes, snapshot.nodes_version), nodes.present)
    allocatable, free = tree.sums(nodes.allocatable), tree.sums(nodes.idle())
    counts = np.diff(tree.starts)
    jobs = _jobs(snapshot, tree)
    domains: list[Domain] = []
    for number, name in enumerate(tree.names):
        above = max(int(tree.parent[number]), ROOT)
        domains.append(
            Domain(
                name="" if number == ROOT else name,
                tier=int(tree.tiers[number]),
                tier_name=tree.tier_names[number],
                parent="" if above == ROOT else tree.names[above],
                depth=len(tree.ancestors(number)) - 1,
                nodes=int(counts[number : tree.end[number]].sum()),
                allocatable=ledger.axis.amounts(allocatable[number]),
                free={
                    resource: int(free[number][at])
                    for at, resource in enumerate(ledger.axis.names)
                    if allocatable[number][at]
                },
                jobs=tuple(jobs[number]),
            )
        )
    return Network(tuple(domains), tree.faults)


def _jobs(snapshot: Snapshot, tree: Tree) -> dict[int, list[str]]:
    """Domain → the jobs in it, sorted."""
    tasks = snapshot.ledger.tasks
    present = snapshot.ledger.nodes.present
    placed = np.flatnonzero((tasks.job >= 0) & (tasks.node >= 0) & ON_NODE_STATUSES[tasks.status])
    placed = placed[present[tasks.node[placed]]]
    found: defaultdict[int, list[str]] = defaultdict(list)
    for job in np.unique(tasks.job[placed]).tolist():
        where = tree.nearest[tasks.node[placed[tasks.job[placed] == job]]]
        found[tree.common(where)].append(snapshot.job_keys[job])
    for names in found.values():
        names.sort()
    return found
