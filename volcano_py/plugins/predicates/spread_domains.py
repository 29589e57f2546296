"""Which topology domain each node is in, and which nodes a spread constraint looks at.

Both follow from the nodes and the pod's own specification, so they are kept with the node index. What is shared by hard
constraints (predicates) and soft constraints (nodeorder) is here.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.placement.row_groups import group_rows
from volcano_py.plugins.predicates.taints import refusal_of
from volcano_py.state.nodes.index import ABSENT, Key, NodeIndex
from volcano_py.state.nodes.terms import Mask, affinity_mask, selector_mask
from volcano_py.state.task_class import TaskClass
from volcano_py.state.terms.spread import Spread

_encode = msgspec.msgpack.Encoder().encode


class Domains(msgspec.Struct, frozen=True, eq=False):
    """One constraint over the nodes.

    Attributes:
        codes: [N] the node's domain, ABSENT where it lacks the topology key.
        counted: [N] nodes whose pods count.
        live: [D] domains with a counted node; the others are none to kube-scheduler.
    """

    codes: NDArray[np.int32]
    counted: Mask
    live: Mask

    @classmethod
    def of(cls, codes: NDArray[np.int32], counted: Mask, size: int) -> Domains:
        """`size` is the number of domains. There is always room for one, so that arrays can be indexed."""
        live = np.bincount(codes[counted], minlength=max(size, 1)) > 0
        return cls(codes, counted, live)

    @property
    def nbytes(self) -> int:
        return self.codes.nbytes + self.counted.nbytes + self.live.nbytes

    def sums(self, per_node: NDArray[np.integer]) -> NDArray[np.int64]:
        """[D] what the counted nodes of each domain have together of `per_node` [N]."""
        rows = np.flatnonzero(self.counted & (per_node != 0))
        sums: NDArray[np.int64] = np.bincount(self.codes[rows], per_node[rows], len(self.live)).astype(np.int64)
        return sums


class Layout(msgspec.Struct, frozen=True, eq=False):
    """Some constraints of a class over the nodes.

    Nodes are in one group when all the constraints see them alike: same domains, counted or not for the same ones. So
    what holds of one holds of all, also after pods of the class were placed.

    Attributes:
        domains: one a constraint.
        groups: [N] the group of each node.
        group_codes: [C, G] the domain of each group, ABSENT without.
        group_counted: [C, G] whether the nodes of the group count.
    """

    domains: tuple[Domains, ...]
    groups: NDArray[np.intp]
    group_codes: NDArray[np.int32]
    group_counted: NDArray[np.bool_]

    @property
    def nbytes(self) -> int:
        arrays = (self.groups, self.group_codes, self.group_counted)
        return sum(part.nbytes for part in self.domains) + sum(array.nbytes for array in arrays)


def layout_of(
    index: NodeIndex,
    present: Mask,
    task_class: TaskClass,
    spreads: Sequence[Spread],
    *,
    all_keys: bool = True,
    but_for: str = "",
) -> Layout:
    """The layout of these constraints of the class, kept while nodes stay as they are. `present` [N]: existing nodes.

    A node counts for a constraint if it has the topology keys of all of them and passes the constraint's own policies;
    without `all_keys`, if it has the key of that one. Whether a node has the topology key `but_for` sets it
    apart from others, its domain does not: the one domain of that key is all nodes that have it.
    """
    key = _key(task_class, spreads, all_keys, but_for)
    return index.kept.keep(key, lambda: _lay_out(index, present, task_class, spreads, all_keys, but_for))


def _key(task_class: TaskClass, spreads: Sequence[Spread], *how: object) -> Key:
    asked = [(spread.topology_key, spread.by_affinity, spread.by_taints) for spread in spreads]
    affinity = (task_class.node_selector, task_class.required_node_affinity)
    policies = (
        affinity if any(spread.by_affinity for spread in spreads) else None,
        task_class.tolerations if any(spread.by_taints for spread in spreads) else None,
    )
    return ("spread layout", _encode((asked, policies, how)))


def _lay_out(
    index: NodeIndex, present: Mask, task_class: TaskClass, spreads: Sequence[Spread], all_keys: bool, but_for: str
) -> Layout:
    columns = [index.label(spread.topology_key) for spread in spreads]
    complete = present.copy()
    for column in columns if all_keys else ():
        complete &= column.present
    domains = tuple(
        Domains.of(np.minimum(column.codes, 0), complete & column.present, 1)
        if spread.topology_key == but_for
        else Domains.of(
            column.codes, complete & column.present & welcomed(index, task_class, spread), len(column.values)
        )
        for column, spread in zip(columns, spreads, strict=True)
    )
    groups, first = group_rows([part for one in domains for part in (one.codes - ABSENT, one.counted)])
    return Layout(
        domains,
        groups,
        group_codes=np.array([one.codes[first] for one in domains], dtype=np.int32),
        group_counted=np.array([one.counted[first] for one in domains], dtype=np.bool_),
    )


def welcomed(index: NodeIndex, task_class: TaskClass, spread: Spread) -> Mask:
    """[N] nodes that the constraint's node policies take in."""
    mask = np.ones(len(index.nodes), dtype=np.bool_)
    if spread.by_affinity:
        labels = selector_mask(index, task_class.node_selector)
        if labels is not None:
            mask &= labels
        if task_class.required_node_affinity is not None:
            mask &= affinity_mask(index, task_class.required_node_affinity)
    if spread.by_taints:
        tolerated = [refusal_of(taints, task_class.tolerations) is None for taints in index.taint_sets]
        mask &= np.array(tolerated, dtype=np.bool_)[index.taint_codes]
    return mask
