"""Nodes as rows, with their places in the network."""

from __future__ import annotations

from typing import Final

import numpy as np

from volcano_py.state.infos import NodeInfo
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.snapshot import Snapshot
from volcano_py.state.status import ON_NODE_STATUSES
from volcano_py.state.topology.tree import ROOT, build
from volcano_py.ui.board.model import NodeRow

ZONE: Final = "topology.kubernetes.io/zone"
RACK: Final = "topology.kubernetes.io/rack"
"""The usual label for it; Kubernetes has none of its own."""


def node_rows(snapshot: Snapshot) -> dict[str, NodeRow]:
    """Name → row."""
    table, axis, tasks = snapshot.ledger.nodes, snapshot.ledger.axis, snapshot.ledger.tasks
    tree = build(snapshot.hyper_nodes, NodeIndex(snapshot.nodes, snapshot.nodes_version), table.present)
    there = ON_NODE_STATUSES[tasks.status] & (tasks.node >= 0)
    pods = np.bincount(tasks.node[there], minlength=len(snapshot.nodes))
    chains: dict[int, tuple[str, ...]] = {}
    rows: dict[str, NodeRow] = {}
    for row in np.flatnonzero(table.present).tolist():
        info, domain = snapshot.nodes[row], int(tree.nearest[row])
        if domain not in chains:
            above = [tree.names[each] for each in tree.ancestors(domain) if each != ROOT]
            chains[domain] = tuple(reversed(above))
        rows[info.name] = NodeRow(
            name=info.name,
            allocatable=axis.amounts(table.allocatable[row]),
            used=axis.amounts(table.used[row]),
            pods=int(pods[row]),
            domains=chains[domain],
            zone=info.labels.get(ZONE, ""),
            rack=info.labels.get(RACK, ""),
            closed=info.unschedulable,
            taints=_taints(info),
        )
    return rows


def _taints(info: NodeInfo) -> tuple[str, ...]:
    return tuple(
        f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        for taint in info.taints
    )
