"""Nodes as rows, with their places in the network."""

from __future__ import annotations

from itertools import compress, count
from operator import is_not
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.devices.stand_ins import Offered
from volcano_py.state.infos import NodeInfo
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.snapshot import Snapshot
from volcano_py.state.status import ON_NODE_STATUSES
from volcano_py.state.topology.tree import ROOT, Tree, build
from volcano_py.ui.board.model import NodeRow

ZONE: Final = "topology.kubernetes.io/zone"
RACK: Final = "topology.kubernetes.io/rack"
"""The usual label for it; Kubernetes has none of its own."""
_PRESENT: Final = 0
_PODS: Final = 1
_AMOUNTS: Final = 2
"""Columns of `_numbers`: whether the node is there, the pods on it, and the first of what it has and what is used."""


class NodeRows:
    """Makes again only the rows whose numbers, object or HyperNodes differ."""

    def __init__(self) -> None:
        self._numbers: NDArray[np.int64] = np.zeros((0, 0), np.int64)
        self._infos: list[NodeInfo] = []
        self._domains_before: list[tuple[str, ...]] = []
        self._rows: list[NodeRow | None] = []
        """Of all rows of the table; None for a node that is not there."""
        self._chains: tuple[tuple[int, int], list[tuple[str, ...]]] = ((-1, -1), [])

    def of(self, snapshot: Snapshot, has: Offered) -> dict[str, NodeRow]:
        """Name → row. `has`: what nodes have with devices."""
        numbers, infos, domains = _numbers(snapshot, has), snapshot.nodes, self._domains(snapshot)
        if self._numbers.shape != numbers.shape or self._domains_before is not domains:
            self._rows = [None] * len(infos)
            due = set(range(len(infos)))
        else:
            due = {*np.flatnonzero((self._numbers != numbers).any(axis=1)).tolist()}
            due.update(compress(count(), map(is_not, self._infos, infos)))
        for row in due:
            self._rows[row] = _row(snapshot, row, numbers[row], domains[row]) if numbers[row, _PRESENT] else None
        self._numbers, self._infos, self._domains_before = numbers, infos, domains
        return {row.name: row for row in self._rows if row is not None}

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


def _numbers(snapshot: Snapshot, has: Offered) -> NDArray[np.int64]:
    """[N, …] what rows are made of: whether a node is there, the pods on it, what it has and what is used of it."""
    table, tasks = snapshot.ledger.nodes, snapshot.ledger.tasks
    on_nodes = ON_NODE_STATUSES[tasks.status] & (tasks.node >= 0)
    pods = np.bincount(tasks.node[on_nodes], minlength=len(snapshot.nodes))
    return np.column_stack((table.present, pods, has.allocatable, table.used))


def _row(snapshot: Snapshot, row: int, numbers: NDArray[np.int64], domains: tuple[str, ...]) -> NodeRow:
    info, axis = snapshot.nodes[row], snapshot.ledger.axis
    amounts = numbers[_AMOUNTS:]
    return NodeRow(
        name=info.name,
        allocatable=axis.amounts(amounts[: len(axis)]),
        used=axis.amounts(amounts[len(axis) :]),
        pods=int(numbers[_PODS]),
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
