"""From which nodes a volume can be used, and where volumes of a storage class can be created.

Semantics are kube-scheduler's filters VolumeBinding and VolumeZone. Answers follow from nodes and from what volumes and
classes say, so each is worked out once for all that say the same, and kept with the node index.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.objects import LabelSelector, NodeSelector, NodeSelectorTerm, SelectorRequirement
from volcano_py.api.volumes import TopologySelectorTerm
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.nodes.terms import Mask, affinity_mask, term_mask
from volcano_py.state.table.table import Rows
from volcano_py.state.volumes.needs import Zone
from volcano_py.state.volumes.storage import ZONE_LABELS, Capacity

_encode = msgspec.msgpack.Encoder().encode


def reachable(index: NodeIndex, affinity: NodeSelector) -> Rows:
    """Rows of the nodes that a volume with this node affinity can be used from, ascending."""
    return index.kept.keep(("nodes of a volume", _encode(affinity)), lambda: _reachable(index, affinity))


def _reachable(index: NodeIndex, affinity: NodeSelector) -> Rows:
    value = _one_label_value(affinity)
    if value is not None:
        # Local volumes, of which there may be many thousands, each say the name of their node.
        return _rows_by_value(index, value[0]).of(value[1])
    return np.flatnonzero(affinity_mask(index, affinity))


def _one_label_value(affinity: NodeSelector) -> tuple[str, str] | None:
    """Key and value of a selector that asks for just that label."""
    if len(affinity.node_selector_terms) != 1:
        return None
    term = affinity.node_selector_terms[0]
    if term.match_fields or len(term.match_expressions) != 1:
        return None
    asked = term.match_expressions[0]
    return (asked.key, asked.values[0]) if asked.operator == "In" and len(asked.values) == 1 else None


class _RowsByValue(msgspec.Struct, frozen=True, eq=False):
    """Node rows ordered by the value of one label; those of value number v are `rows[starts[v]:starts[v + 1]]`."""

    slots: dict[str, int]
    rows: Rows
    starts: NDArray[np.intp]

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.starts.nbytes + 100 * len(self.slots)

    def of(self, value: str) -> Rows:
        slot = self.slots.get(value)
        return self.rows[:0] if slot is None else self.rows[self.starts[slot] : self.starts[slot + 1]]


def _rows_by_value(index: NodeIndex, key: str) -> _RowsByValue:
    def make() -> _RowsByValue:
        column = index.label(key)
        rows = np.argsort(column.codes, kind="stable")
        starts = np.searchsorted(column.codes[rows], np.arange(len(column.values) + 1))
        return _RowsByValue({value: slot for slot, value in enumerate(column.values)}, rows, starts)

    return index.kept.keep(("nodes by label value", key), make)


def zone_mask(index: NodeIndex, zones: Sequence[Zone]) -> Mask:
    """[N] nodes in the zones and regions of a volume; a node without any such label is taken to be in all."""
    return index.kept.keep(("zones of a volume", _encode(zones)), lambda: _zone_mask(index, zones))


def _zone_mask(index: NodeIndex, zones: Sequence[Zone]) -> Mask:
    unlabelled = np.ones(len(index.nodes), dtype=np.bool_)
    for key in ZONE_LABELS:
        unlabelled &= ~index.label(key).present
    inside = np.ones(len(index.nodes), dtype=np.bool_)
    for key, values in zones:
        old, new = index.label(key), index.label(ZONE_LABELS[key])
        inside &= np.where(old.present, old.among(values), new.among(values))
    return unlabelled | inside


def topology_mask(index: NodeIndex, terms: Sequence[TopologySelectorTerm]) -> Mask:
    """[N] nodes for which a storage class with these `allowedTopologies` makes volumes."""
    if not terms:
        return np.ones(len(index.nodes), dtype=np.bool_)
    mask = np.zeros(len(index.nodes), dtype=np.bool_)
    for term in terms:
        expressions = [
            SelectorRequirement(key=each.key, operator="In", values=each.values)
            for each in term.match_label_expressions
        ]
        mask |= term_mask(index, NodeSelectorTerm(match_expressions=expressions))
    return mask


def capacity_mask(index: NodeIndex, capacities: Iterable[Capacity], size: int) -> Mask:
    """[N] nodes that have access to room for a volume of this many bytes."""
    mask = np.zeros(len(index.nodes), dtype=np.bool_)
    for topology in {_encode(each.topology): each.topology for each in capacities if each.largest >= size}.values():
        mask |= _selected(index, topology)
    return mask


def _selected(index: NodeIndex, selector: LabelSelector) -> Mask:
    """[N] nodes with such labels; an empty selector selects all."""
    labels = [
        SelectorRequirement(key=key, operator="In", values=[value]) for key, value in selector.match_labels.items()
    ]
    expressions = [*labels, *selector.match_expressions]
    if not expressions:
        return np.ones(len(index.nodes), dtype=np.bool_)
    return term_mask(index, NodeSelectorTerm(match_expressions=expressions))
