"""Hierarchical dominant resource fairness: shares of the nodes of the tree of queues.

(Bhattacharya et al., Hierarchical Scheduling for Diverse Datacenter Workloads, SoCC 2013.)

                root
              /      \\
          eng (w 2)   sci (w 1)       a queue's node has jobs below it, any other node has nodes
          /      \\         \\
        dev      prod     jobs…

Jobs are leaves. A leaf is saturated when it can get no more: it has all it asks for of some resource, or holds some of
a resource that is exhausted. A node is, when everything below it is. What a node holds is the sum over its children,
the free ones scaled down to the least share over weight among them (see `siblings`); its share is the largest part of
any resource that is not exhausted, since an exhausted one says nothing about what it may still get. Saturated nodes can
only be compared with each other, by all resources.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.drf.job_shares import JobShares
from volcano_py.plugins.drf.layout import Layout, Path
from volcano_py.plugins.drf.siblings import Siblings
from volcano_py.state.axis import IntVector
from volcano_py.state.ledger import Rows

Exhausted = NDArray[np.bool_]
"""[R] which resources are used up in the whole cluster."""

# Shares come out of chains of divisions; two that are equal on paper may differ in their last bits. Keys are rounded to
# so many bits, that such nodes tie and their names decide, not the noise.
_KEY_BITS = 40


@dataclass(slots=True, eq=False)
class Node:
    """A node below the root; `position` is its place among its siblings."""

    path: Path
    weight: float
    parent: Node | None
    position: int
    children: Siblings
    held: NDArray[np.float64]
    share: float = 0.0
    saturated: bool = True

    @property
    def ratio(self) -> float:
        """Share over weight, rounded for comparisons."""
        return rounded(self.share / self.weight)


@dataclass(frozen=True)
class Leaves:
    """The jobs of the tree: those that hold something or wait for it.

    Attributes:
        rows: [L] job rows, those of one node side by side.
        requests: [L, R] what the job holds and its tasks that can be placed ask for.
        parents: [L] path of the node it is below.
    """

    rows: Rows
    requests: NDArray[np.int64]
    parents: Sequence[Path]

    @cached_property
    def path_of(self) -> Mapping[int, Path]:
        """Job row → path of the node it is below."""
        return dict(zip(self.rows.tolist(), self.parents, strict=True))


def rounded(value: float) -> float:
    """The value with `_KEY_BITS` bits."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, _KEY_BITS)), exponent - _KEY_BITS)


class Tree:
    """All nodes with their shares, true after `recount` and whatever `update` was told since."""

    def __init__(self, layout: Layout, leaves: Leaves, jobs: JobShares) -> None:
        self._layout = layout
        self._jobs = jobs
        self.leaves = leaves
        self._totals = [float(amount) for amount in jobs.total.tolist()]
        self._leaf_of = {row: leaf for leaf, row in enumerate(leaves.rows.tolist())}
        counts = _children_counts(layout, leaves)
        self.nodes: dict[Path, Node] = {}
        placed: dict[Path, int] = {}
        for path in sorted(layout.weights, key=len):
            self.nodes[path] = self._node(path, layout.weights[path], counts.get(path, 0), placed)
        self._upwards = sorted(self.nodes.values(), key=lambda node: -len(node.path))
        self._place = np.zeros(len(leaves.rows), dtype=np.intp)
        self._families = list(self._families_of_jobs())
        self._exhausted: Exhausted = np.zeros(len(self._totals), dtype=np.bool_)
        self._counted: list[tuple[int, float]] = []
        self._every = [(dim, total) for dim, total in enumerate(self._totals) if total > 0]
        self._every_if_saturated = True

    # -- working out -----------------------------------------------------------------------------------------------

    def recount(self, exhausted: Exhausted, counted: NDArray[np.bool_], *, every_if_saturated: bool) -> None:
        """Work out everything anew.

        Args:
            exhausted: what saturates who holds some of it.
            counted: [R] the resources that shares of nodes are taken over.
            every_if_saturated: but those of saturated nodes over all.
        """
        self._exhausted = exhausted.copy()
        self._counted = [(dim, total) for dim, total in self._every if counted[dim]]
        self._every_if_saturated = every_if_saturated
        held, shares = self._jobs.held[self.leaves.rows], self._jobs.shares[self.leaves.rows]
        has = held > 0
        full: NDArray[np.bool_] = np.logical_or(held >= self.leaves.requests, exhausted)
        saturated: NDArray[np.bool_] = np.any(has & (self.leaves.requests > 0) & full, axis=1)
        is_free = ~saturated & (shares > 0)
        rows = np.zeros((len(held), 2 * held.shape[1]))
        rows[:, : held.shape[1]][saturated] = held[saturated]
        rows[:, held.shape[1] :][is_free] = held[is_free] * (1.0 / shares[is_free])[:, None]
        ratios = np.where(is_free, shares, math.inf)
        for node, first, last in self._families:
            node.children.put_all(rows[first:last], ratios[first:last], ~saturated[first:last])
        for node in self._upwards:
            node.children.rebuild()
            self._evaluate(node)
            if node.parent is not None:
                siblings = node.parent.children
                siblings.put(node.position, node.held, node.share, node.weight, saturated=node.saturated)

    def update(self, job_row: int) -> None:
        """The job holds something else than before."""
        self.put(job_row, self._jobs.held[job_row], float(self._jobs.shares[job_row]))

    def put(self, job_row: int, held: IntVector, share: float) -> None:
        """As if the job held that; a later `update` takes it back."""
        leaf = self._leaf_of[job_row]
        node = self._parent_of(leaf)
        saturated = self._is_saturated(held, leaf)
        position = int(self._place[leaf])
        node.children.put(position, held.astype(np.float64), share, 1.0, saturated=saturated)
        node.children.refresh(position)
        self._evaluate(node)
        while node.parent is not None:
            siblings = node.parent.children
            siblings.put(node.position, node.held, node.share, node.weight, saturated=node.saturated)
            siblings.refresh(node.position)
            node = node.parent
            self._evaluate(node)

    def _evaluate(self, node: Node) -> None:
        """A node from its children."""
        node.held = node.children.together()
        node.saturated = node.children.saturated
        held: list[float] = node.held.tolist()
        dims = self._every if node.saturated and self._every_if_saturated else self._counted
        node.share = max((held[dim] / total for dim, total in dims), default=0.0)

    def _is_saturated(self, held: IntVector, leaf: int) -> bool:
        requests: list[int] = self.leaves.requests[leaf].tolist()
        return any(
            amount > 0 and wanted > 0 and (amount >= wanted or is_exhausted)
            for amount, wanted, is_exhausted in zip(held.tolist(), requests, self._exhausted.tolist(), strict=True)
        )

    # -- laying out ------------------------------------------------------------------------------------------------

    def _node(self, path: Path, weight: float, children: int, placed: dict[Path, int]) -> Node:
        above = path[:-1]
        position = placed.get(above, 0)
        placed[above] = position + 1
        width = len(self._totals)
        return Node(path, weight, self.nodes.get(above), position, Siblings(children, width), np.zeros(width))

    def _families_of_jobs(self) -> Iterator[tuple[Node, int, int]]:
        """Nodes with jobs, and where their jobs begin and end among the leaves."""
        parents, first = self.leaves.parents, 0
        for leaf in range(1, len(parents) + 1):
            if leaf == len(parents) or parents[leaf] != parents[first]:
                self._place[first:leaf] = np.arange(leaf - first)
                yield self.nodes[parents[first]], first, leaf
                first = leaf

    def _parent_of(self, leaf: int) -> Node:
        return self.nodes[self.leaves.parents[leaf]]


class FollowedTree(Tree):
    """A tree that is told which jobs have moved, and catches up when it is asked to."""

    def __init__(self, layout: Layout, leaves: Leaves, jobs: JobShares) -> None:
        super().__init__(layout, leaves, jobs)
        self._moved: dict[int, None] = {}

    def note(self, job_row: int) -> None:
        """The job holds something else than before."""
        if job_row in self.leaves.path_of:
            self._moved[job_row] = None

    def follow(self) -> None:
        """Catch up."""
        for row in self._moved:
            self.update(row)
        self._moved.clear()

    def recount(self, exhausted: Exhausted, counted: NDArray[np.bool_], *, every_if_saturated: bool) -> None:
        super().recount(exhausted, counted, every_if_saturated=every_if_saturated)
        self._moved.clear()

    def another(self) -> FollowedTree:
        """A tree of the same queues and jobs; it wants a recount."""
        return FollowedTree(self._layout, self.leaves, self._jobs)


def _children_counts(layout: Layout, leaves: Leaves) -> dict[Path, int]:
    counts: dict[Path, int] = {}
    for path in layout.weights:
        counts[path[:-1]] = counts.get(path[:-1], 0) + 1
    for path in leaves.parents:
        counts[path] = counts.get(path, 0) + 1
    return counts
