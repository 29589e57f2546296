"""The nodes that HyperNodes select, remembered from one tree to the next: a node that changes is compared with all
HyperNodes, and only those that it concerns are evaluated again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_not
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.objects import NodeSelectorTerm, SelectorRequirement
from volcano_py.state.infos import NodeInfo
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.nodes.terms import term_mask
from volcano_py.state.table.table import Rows
from volcano_py.state.terms.selectors import selects
from volcano_py.state.topology.hyper_nodes import HyperNodeInfo
from volcano_py.state.topology.patterns import Patterns

_MOST_CHANGED: Final = 32
"""Nodes; with more of them, evaluating everything costs less than finding what they concern."""


class Selected(msgspec.Struct, frozen=True, eq=False):
    """What one HyperNode selects.

    Attributes:
        info: the HyperNode.
        rows: [K] of its nodes, each once.
        unknown: names of nodes that do not exist.
    """

    info: HyperNodeInfo
    rows: Rows
    unknown: tuple[str, ...]


class Members:
    """See the module."""

    def __init__(self) -> None:
        self._patterns = Patterns()
        self._nodes: tuple[NodeInfo, ...] = ()
        self._present: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._known: dict[str, Selected] = {}

    def follow(
        self, infos: Sequence[HyperNodeInfo], index: NodeIndex, present: NDArray[np.bool_]
    ) -> Mapping[str, Selected]:
        """HyperNode → what it selects. These are all HyperNodes and all nodes; `present` [N] are those that exist."""
        wanted = [pattern for info in infos for pattern in info.patterns]
        if wanted:
            self._patterns.follow(wanted, (name for name, row in index.rows.items() if present[row]))
        changed = self._changed(index, present)
        names = {node.name for node in changed or ()}
        self._known = {
            info.name: known
            if changed is not None
            and (known := self._known.get(info.name)) is not None
            and known.info is info
            and not self._concern(info, names, changed)
            else self._select(info, index, present)
            for info in infos
        }
        self._nodes, self._present = tuple(index.nodes), present.copy()
        return self._known

    def _changed(self, index: NodeIndex, present: NDArray[np.bool_]) -> list[NodeInfo] | None:
        """Nodes as they were and as they are, of rows in which that differs in name or labels; None for too many."""
        before, now = self._nodes, index.nodes
        common = min(len(before), len(now))
        replaced = np.fromiter(map(is_not, before, now), dtype=np.bool_, count=common)
        rows = np.flatnonzero(replaced | (self._present[:common] != present[:common])).tolist()
        if len(rows) + abs(len(before) - len(now)) > _MOST_CHANGED:
            return None
        changed = [node for nodes in (before[common:], now[common:]) for node in nodes]
        for row in rows:
            old, new = before[row], now[row]
            if (old.name, old.labels, self._present[row]) != (new.name, new.labels, present[row]):
                changed += [old, new]
        return changed

    def _concern(self, info: HyperNodeInfo, names: set[str], changed: Sequence[NodeInfo]) -> bool:
        """Whether the HyperNode selects any of the nodes, as they were or as they are."""
        return (
            not names.isdisjoint(info.nodes)
            or any(self._patterns.may_match(pattern, names) for pattern in info.patterns)
            or any(selects(selector, node.labels) for selector in info.selectors for node in changed)
        )

    def _select(self, info: HyperNodeInfo, index: NodeIndex, present: NDArray[np.bool_]) -> Selected:
        found: list[int] = []
        unknown: list[str] = []
        for name in info.nodes:
            row = index.rows.get(name)
            if row is None or not present[row]:
                unknown.append(name)
            else:
                found.append(row)
        found.extend(index.rows[name] for pattern in info.patterns for name in self._patterns.names(pattern))
        rows = np.array(found, dtype=np.intp)
        for selector in info.selectors:
            labels = [
                SelectorRequirement(key=key, operator="In", values=[value])
                for key, value in selector.match_labels.items()
            ]
            term = NodeSelectorTerm(match_expressions=[*labels, *selector.match_expressions])
            rows = np.concatenate((rows, np.flatnonzero(term_mask(index, term) & present)))
        return Selected(info, np.unique(rows), tuple(unknown))
