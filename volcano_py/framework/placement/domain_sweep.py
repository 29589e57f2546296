"""Placing many equal tasks at once while the scores of whole groups of nodes change with each of them.

At every step the domain score (`domain_scores.py`) gives each group its score, and the best node of a group is the one
that is best by itself. So a step looks at the groups and not at the nodes. A domain filter (`domain_filters.py`)
divides groups further: the nodes of the open ones may take the next task, and domain scores compare those.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.domain_filters import DomainFilter
from volcano_py.framework.domain_scores import DomainScore, Groups, number_on_grid, on_grid
from volcano_py.framework.placement.filtered_sweep import best_per_group
from volcano_py.framework.placement.row_groups import RowGroups, group_rows
from volcano_py.framework.placement.sweep import Ladder
from volcano_py.framework.views import FITS, Counts, Scores
from volcano_py.state.table.table import Rows

MakeLadder = Callable[[Rows, Scores | None], Ladder]
"""From rows of nodes [K] and the fixed part of their scores [K]."""


class DomainReplay(msgspec.Struct, frozen=True, eq=False):
    """The start of a sweep: K nodes: all that have room and that only the domain filter may refuse.

    Attributes:
        rows, scores, ties, room: [K] of each node; `scores` is without the domain score, and with `fixed`.
        fixed: [K] the part of the scores that stays while no node becomes full; None for none.
        domain_filter: closes groups of nodes; not together with `fixed`.
    """

    rows: Rows
    scores: Scores
    ties: NDArray[np.int64]
    room: Counts
    fixed: Scores | None
    domain_score: DomainScore
    domain_filter: DomainFilter | None
    ladder: MakeLadder

    def nodes(self, count: int) -> Rows:
        """The rows that up to `count` tasks take one after the other."""
        buckets = _Buckets(self)
        top = best_per_group(on_grid(self.scores), self.ties, buckets.of_node, count)
        fixed = None if self.fixed is None else self.fixed[top]
        steps = _Steps(buckets, self, top, self.ladder(self.rows[top], fixed))
        chosen = steps.take(count, until_full=fixed is not None)
        return self.rows[top[chosen]]


class _Buckets:
    """Buckets of nodes that share a group of the domain score and a group of the domain filter.

    Attributes:
        of_node: [K] the bucket of each node.
        population: [B] how many nodes with room each has.
    """

    def __init__(self, sweep: DomainReplay) -> None:
        scores = sweep.domain_score.groups[sweep.rows]
        its_filter = sweep.domain_filter
        filters = np.zeros(len(scores), dtype=np.intp) if its_filter is None else its_filter.groups[sweep.rows]
        self.of_node, first = group_rows([scores, filters])
        self.population = np.bincount(self.of_node, minlength=len(first)).astype(np.int64)
        self._pairs = RowGroups([scores[first], filters[first]])

    def __len__(self) -> int:
        return len(self._pairs)

    @property
    def score_group(self) -> NDArray[np.int64]:
        """[B] the group of the domain score that each bucket is in."""
        return self._pairs.columns[0]

    @property
    def filter_group(self) -> NDArray[np.int64]:
        """[B] the group of the domain filter that each bucket is in."""
        return self._pairs.columns[1]

    def bucket(self, score_group: int, filter_group: int) -> int:
        """The bucket of that pair, a new one if there is none."""
        bucket = self._pairs.number(score_group, filter_group)
        if bucket == len(self.population):
            self.population = np.append(self.population, 0)
        return bucket


class _Steps:
    """The sequence itself, as positions among the K best nodes of each bucket."""

    def __init__(self, buckets: _Buckets, sweep: DomainReplay, top: Rows, ladder: Ladder) -> None:
        self._buckets = buckets
        self._ladder = ladder
        self._room = sweep.room[top].tolist()
        self._placed = [0] * len(top)
        self._ties = sweep.ties[top].tolist()
        self._ahead = sweep.domain_score.ahead()
        self._groups = sweep.domain_score.size
        self._filter = None if sweep.domain_filter is None else sweep.domain_filter.ahead()
        self._open = np.ones(1, dtype=np.bool_) if sweep.domain_filter is None else sweep.domain_filter.codes == FITS
        self._heaps = _heaps(on_grid(sweep.scores)[top], sweep.ties[top], buckets.of_node[top], len(buckets))
        self._best = np.array([-heap[0][0] for heap in self._heaps])
        self._tie = np.array([heap[0][1] for heap in self._heaps], dtype=np.int64)

    def take(self, count: int, *, until_full: bool) -> list[int]:
        """`until_full`: stop when a node is full, because the fixed scores depend on which nodes have room."""
        chosen: list[int] = []
        while len(chosen) < count and (bucket := self._best_bucket()) is not None:
            node = self._heaps[bucket][0][2]
            chosen.append(node)
            self._placed[node] += 1
            is_full = self._placed[node] >= self._room[node]
            if is_full and until_full:
                break
            self._move(bucket, node, is_full=is_full)
        return chosen

    def _best_bucket(self) -> int | None:
        """The bucket with the best open node; among equal nodes the one with the lowest tie rank."""
        buckets = self._buckets
        willing, groups = buckets.population, buckets.score_group
        if self._filter is not None:
            willing = np.where(self._open[buckets.filter_group], willing, 0)
        if not willing.any():
            return None
        population = np.bincount(groups, weights=willing, minlength=self._groups).astype(np.int64)
        of_groups = self._ahead.scores(population)
        totals = np.where(willing > 0, self._best + of_groups[groups], -np.inf)
        equals = np.flatnonzero(totals == totals.max())
        return int(equals[0] if len(equals) == 1 else equals[self._tie[equals].argmin()])

    def _move(self, bucket: int, node: int, *, is_full: bool) -> None:
        """After a task on the best node of the bucket: the node moves to another bucket, or leaves when it is full."""
        buckets = self._buckets
        heapq.heappop(self._heaps[bucket])
        buckets.population[bucket] -= 1
        self._show_best(bucket)
        group = self._ahead.place(int(buckets.score_group[bucket]))
        self._groups = max(self._groups, group + 1)
        filter_group = int(buckets.filter_group[bucket])
        if self._filter is not None:
            self._open = self._filter.place(filter_group)
        if is_full:
            return
        other = buckets.bucket(group, filter_group)
        if other == len(self._heaps):
            self._heaps.append([])
            self._best, self._tie = np.append(self._best, -np.inf), np.append(self._tie, 0)
        score = number_on_grid(self._ladder.score(node, self._placed[node]))
        heapq.heappush(self._heaps[other], (-score, self._ties[node], node))
        buckets.population[other] += 1
        self._show_best(other)

    def _show_best(self, bucket: int) -> None:
        heap = self._heaps[bucket]
        self._best[bucket] = -heap[0][0] if heap else -np.inf
        self._tie[bucket] = heap[0][1] if heap else 0


def _heaps(scores: Scores, ties: NDArray[np.int64], buckets: Groups, size: int) -> list[list[tuple[float, int, int]]]:
    """For each bucket (minus score, tie rank, position) of its nodes, best first, which is a valid heap. Nodes come in
    the order of `best_per_group`."""
    heaps: list[list[tuple[float, int, int]]] = [[] for _ in range(size)]
    entries = zip(buckets.tolist(), (-scores).tolist(), ties.tolist(), strict=True)
    for position, (bucket, score, tie) in enumerate(entries):
        heaps[bucket].append((score, tie, position))
    return heaps
