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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.drf.job_shares import JobShares
from volcano_py.plugins.drf.layout import Layout, Path
from volcano_py.plugins.drf.siblings import NOTHING, Siblings
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.table import Rows

Exhausted = NDArray[np.bool_]
"""[R] which resources are used up in the whole cluster."""

# Shares come out of chains of divisions; two that are equal on paper may differ in their last bits. Keys lose the last
# 13 of the 53 bits of a float, so that such nodes tie and what is below them decides, not noise.
_SPLIT: Final = 2.0**13 + 1.0

# To follow one job takes about as long as to compute a node again, and what a job takes then is a part of that.
_A_JOB: Final = 1 / 16

F = TypeVar("F", float, NDArray[np.float64])


@dataclass(slots=True, eq=False)
class Node:
    """A node below the root; `position` is its place among its siblings."""

    path: Path
    weight: float
    parent: Node | None
    position: int
    children: Siblings
    held: list[float] = field(default_factory=list)
    share: float = 0.0
    saturated: bool = True
    key: tuple[bool, float] = (True, 0.0)
    """Its rank among its siblings: those that can take nothing more are last, then by ratio."""

    @property
    def ratio(self) -> float:
        """Share over weight, rounded for comparisons."""
        return self.key[1]


class Leaves(msgspec.Struct, frozen=True, dict=True):
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
    def leaf_of(self) -> Mapping[int, int]:
        """Job row → leaf."""
        return {row: leaf for leaf, row in enumerate(self.rows.tolist())}


def rounded(value: F) -> F:
    """The value, or each, with its leading 40 bits (Dekker's splitting)."""
    large = value * _SPLIT
    return large - (large - value)


class Tree:
    """All nodes with their shares, current after `recount` and the calls of `update` since."""

    def __init__(self, layout: Layout, leaves: Leaves, jobs: JobShares) -> None:
        self._layout = layout
        self._jobs = jobs
        self.leaves = leaves
        self._totals = [float(amount) for amount in jobs.total.tolist()]
        self._requests: list[list[int]] = leaves.requests.tolist()
        self._leaf_of = leaves.leaf_of
        counts = _children_counts(layout, leaves)
        self.nodes: dict[Path, Node] = {}
        placed: dict[Path, int] = {}
        for path in sorted(layout.weights, key=len):
            self.nodes[path] = self._node(path, layout.weights[path], counts.get(path, 0), placed)
        self._upwards = sorted(self.nodes.values(), key=lambda node: -len(node.path))
        self._place: list[tuple[Node, int]] = []
        self._families = list(self._families_of_jobs())
        self._exhausted = [False] * len(self._totals)
        self._counted: list[tuple[int, float]] = []
        self._every = [(dim, total) for dim, total in enumerate(self._totals) if total > 0]
        self._every_if_saturated = True

    # -- working out -----------------------------------------------------------------------------------------------

    def recount(self, exhausted: Exhausted, counted: NDArray[np.bool_], *, every_if_saturated: bool) -> None:
        """Compute everything again.

        Args:
            exhausted: resources that saturate whatever holds some of them.
            counted: [R] the resources that shares of nodes are taken over.
            every_if_saturated: but those of saturated nodes over all.
        """
        self._exhausted = exhausted.tolist()
        self._counted = [(dim, total) for dim, total in self._every if counted[dim]]
        self._every_if_saturated = every_if_saturated
        held, shares = self._jobs.held[self.leaves.rows], self._jobs.shares[self.leaves.rows]
        has = held > 0
        full: NDArray[np.bool_] = np.logical_or(held >= self.leaves.requests, exhausted)
        saturated: NDArray[np.bool_] = np.any(has & (self.leaves.requests > 0) & full, axis=1)
        is_free = ~saturated & (shares > 0)
        as_is, per_unit = np.zeros(held.shape), np.zeros(held.shape)
        as_is[saturated] = held[saturated]
        per_unit[is_free] = held[is_free] * (1.0 / shares[is_free])[:, None]
        ratios: list[float] = np.where(is_free, shares, NOTHING).tolist()
        is_open: list[bool] = (~saturated).tolist()
        for node, first, last in self._families:
            sides = as_is[first:last].T.tolist(), per_unit[first:last].T.tolist()
            node.children.put_all(*sides, ratios[first:last], is_open[first:last])
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
        node, position = self._place[leaf]
        amounts: list[int] = held.tolist()
        saturated = self._is_saturated(amounts, leaf)
        node.children.put(position, amounts, share, 1.0, saturated=saturated)
        node.children.refresh(position)
        while self._evaluate(node) and (parent := node.parent) is not None:
            parent.children.put(node.position, node.held, node.share, node.weight, saturated=node.saturated)
            parent.children.refresh(node.position)
            node = parent

    def path(self, job_row: int) -> Path:
        """The node that the job is below."""
        return self.leaves.parents[self._leaf_of[job_row]]

    def _evaluate(self, node: Node) -> bool:
        """A node from its children; whether that makes a difference to the nodes above.

        Often it makes none: children are scaled down to the least of them, and while others are as low as the one that
        grows, their parent stays what it is.
        """
        held, saturated = node.children.together(), node.children.saturated
        share = 0.0
        for dim, total in self.counted(saturated=saturated):
            part = held[dim] / total
            if part > share:
                share = part
        if held == node.held and share == node.share and saturated == node.saturated:
            return False
        node.held, node.share, node.saturated = held, share, saturated
        node.key = saturated, rounded(share / node.weight)
        return True

    def counted(self, *, saturated: bool) -> list[tuple[int, float]]:
        """The resources over which the share of a node is taken, with how much there is of each."""
        return self._every if saturated and self._every_if_saturated else self._counted

    def _is_saturated(self, held: list[int], leaf: int) -> bool:
        for dim, wanted in enumerate(self._requests[leaf]):
            if held[dim] > 0 and wanted > 0 and (held[dim] >= wanted or self._exhausted[dim]):
                return True
        return False

    # -- laying out ------------------------------------------------------------------------------------------------

    def _node(self, path: Path, weight: float, children: int, placed: dict[Path, int]) -> Node:
        above = path[:-1]
        position = placed.get(above, 0)
        placed[above] = position + 1
        width = len(self._totals)
        return Node(path, weight, self.nodes.get(above), position, Siblings(children, width))

    def _families_of_jobs(self) -> Iterator[tuple[Node, int, int]]:
        """Nodes with jobs, and where their jobs begin and end among the leaves."""
        parents, first = self.leaves.parents, 0
        for leaf in range(1, len(parents) + 1):
            if leaf == len(parents) or parents[leaf] != parents[first]:
                node = self.nodes[parents[first]]
                self._place.extend((node, position) for position in range(leaf - first))
                yield node, first, leaf
                first = leaf


class FollowedTree(Tree):
    """A tree that collects which jobs have moved, and is brought up to date when it is asked."""

    def __init__(self, layout: Layout, leaves: Leaves, jobs: JobShares) -> None:
        super().__init__(layout, leaves, jobs)
        self._moved: dict[int, None] = {}

    def note(self, job_row: int) -> None:
        """The job holds something else than before."""
        if job_row in self._leaf_of:
            self._moved[job_row] = None

    @property
    def has_moved_much(self) -> bool:
        """Whether to compute everything again takes less than to follow the jobs one by one. It comes to the same."""
        return len(self._moved) > len(self.nodes) + len(self.leaves.rows) * _A_JOB

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
