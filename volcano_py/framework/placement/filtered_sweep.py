"""Placing many equal tasks at once while a domain filter opens and closes groups of nodes.

At every step the next task goes to the best node of the open groups, and the domain filter (`domain_filters.py`) says
which groups are open after that.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.domain_filters import DomainFilter
from volcano_py.framework.placement.sweep import Ladder
from volcano_py.framework.views import FITS, Counts, Scores
from volcano_py.state.table.runs import ranks_in_runs, starts_of_runs
from volcano_py.state.table.table import Rows

_Mask = NDArray[np.bool_]


def best_per_group(scores: Scores, ties: NDArray[np.int64], groups: NDArray[np.intp], count: int) -> Rows:
    """Positions of the `count` best of each group, group by group, by (score descending, tie rank)."""
    order = np.lexsort((ties, -scores, groups))
    best: Rows = order[ranks_in_runs(groups[order]) < count]
    return best


def replay_filtered(
    ladder: Ladder,
    scores: Scores,
    ties: NDArray[np.int64],
    room: Counts,
    groups: NDArray[np.intp],
    domain_filter: DomainFilter,
    count: int,
) -> list[int]:
    """Positions of the nodes that up to `count` tasks take one after the other: always the best node of the groups that
    are open at that moment. The K nodes are in the order of `best_per_group`.
    """
    if not len(groups):
        return []
    tops = _Tops(scores, ties, groups)
    left, placed = room.tolist(), [0] * len(groups)
    open_groups, ahead = domain_filter.codes == FITS, domain_filter.ahead()
    chosen: list[int] = []
    while len(chosen) < count and (top := tops.best(open_groups)) is not None:
        node = tops.take(top)
        chosen.append(node)
        placed[node] += 1
        tops.put_back(top, node, ladder.score(node, placed[node]) if placed[node] < left[node] else None)
        open_groups = ahead.place(tops.group(top))
    return chosen


class _Tops:
    """The best node of each group. The group's other nodes are in a heap, built when the group is first used."""

    def __init__(self, scores: Scores, ties: NDArray[np.int64], groups: NDArray[np.intp]) -> None:
        starts = starts_of_runs(groups)
        self._ends = np.append(starts[1:], len(groups)).tolist()
        self._starts = starts.tolist()
        self._groups = groups[starts]
        self._all_scores, self._all_ties = scores, ties
        self._scores, self._ties = scores[starts].copy(), ties[starts].copy()
        self._heaps: dict[int, list[tuple[float, int, int]]] = {}

    def group(self, top: int) -> int:
        return int(self._groups[top])

    def best(self, open_groups: _Mask) -> int | None:
        """The open group with the best node that has room; None when there is none."""
        scores = np.where(open_groups.take(self._groups), self._scores, -np.inf)
        highest = scores.max()
        if highest == -np.inf:
            return None
        equals = np.flatnonzero(scores == highest)
        return int(equals[self._ties[equals].argmin()])

    def take(self, top: int) -> int:
        """The position of the best node of a group."""
        heap = self._heaps.get(top)
        if heap is None:
            # sorted already, so it is a heap
            span = slice(self._starts[top], self._ends[top])
            entries = zip((-self._all_scores[span]).tolist(), self._all_ties[span].tolist(), strict=True)
            heap = [(score, tie, self._starts[top] + i) for i, (score, tie) in enumerate(entries)]
            self._heaps[top] = heap
        return heap[0][2]

    def put_back(self, top: int, node: int, score: float | None) -> None:
        """The node's score after the task; None when it is full."""
        heap = self._heaps[top]
        if score is None:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, (-score, int(self._all_ties[node]), node))
        self._scores[top] = -heap[0][0] if heap else -np.inf
        self._ties[top] = heap[0][1] if heap else 0
