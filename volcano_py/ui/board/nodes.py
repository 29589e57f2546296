"""Nodes as rows, with their places in the network."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from volcano_py.state.infos import NodeInfo
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.snapshot import Snapshot
from volcano_py.state.status import ON_NODE_STATUSES
from volcano_py.state.topology.tree import ROOT, Tree, build
from volcano_py.ui.board.model import NodeRow

ZONE: Final = "topology.kubernetes.io/zone"
RACK: Final = "topology.kubernetes.io/rack"
"""The usual label for it; Kubernetes has none of its own."""


class NodeRows:
    """Keeps rows with what they were made from, and the tree of HyperNodes."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[tuple[Any, ...], NodeRow]] = {}
        self._chains: tuple[tuple[int, int], list[tuple[str, ...]]] = ((-1, -1), [])

    def of(self, snapshot: Snapshot) -> dict[str, NodeRow]:
        """Name → row."""
        table, axis, tasks = snapshot.ledger.nodes, snapshot.ledger.axis, snapshot.ledger.tasks
        there = ON_NODE_STATUSES[tasks.status] & (tasks.node >= 0)
        pods = np.bincount(tasks.node[there], minlength=len(snapshot.nodes)).tolist()
        used, allocatable = table.used.tolist(), table.allocatable.tolist()
        chains = self._domains(snapshot)
        made: dict[str, tuple[tuple[Any, ...], NodeRow]] = {}
        for row in np.flatnonzero(table.present).tolist():
            info = snapshot.nodes[row]
            source = info, used[row], allocatable[row], pods[row], chains[row]
            known = self._made.get(info.name)
            if known is None or known[0] != source:
                amounts = axis.amounts(table.allocatable[row]), axis.amounts(table.used[row])
                known = source, _row(info, *amounts, pods[row], chains[row])
            made[info.name] = known
        self._made = made
        return {name: row for name, (_, row) in made.items()}

    def _domains(self, snapshot: Snapshot) -> list[tuple[str, ...]]:
        """[N] the HyperNodes that each node is in, from the widest on."""
        versions = snapshot.nodes_version, snapshot.hyper_nodes_version
        if self._chains[0] != versions:
            index = NodeIndex(snapshot.nodes, snapshot.nodes_version)
            tree = build(snapshot.hyper_nodes, index, snapshot.ledger.nodes.present)
            chains = [_chain(tree, domain) for domain in range(len(tree))]
            self._chains = versions, [chains[domain] if domain >= 0 else () for domain in tree.nearest.tolist()]
        return self._chains[1]


def _chain(tree: Tree, domain: int) -> tuple[str, ...]:
    return tuple(reversed([tree.names[each] for each in tree.ancestors(domain) if each != ROOT]))


def _row(
    info: NodeInfo, allocatable: dict[str, int], used: dict[str, int], pods: int, domains: tuple[str, ...]
) -> NodeRow:
    return NodeRow(
        name=info.name,
        allocatable=allocatable,
        used=used,
        pods=pods,
        domains=domains,
        zone=info.labels.get(ZONE, ""),
        rack=info.labels.get(RACK, ""),
        closed=info.unschedulable,
        taints=_taints(info),
    )


def _taints(info: NodeInfo) -> tuple[str, ...]:
    return tuple(
        f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        for taint in info.taints
    )
