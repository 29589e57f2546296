"""Placing many equal tasks at once with the same result as one by one.

A task always goes to the node that scores best at that moment. So K tasks can only use the K best nodes. Among those a
heap replays the sequence, with the scores after one more task, two more, … computed in whole columns.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.views import Counts, Scores
from volcano_py.state.table.table import Rows

# Nodes planned ahead for a class; beyond some hundreds the sweep costs as much as it saves.
_LONGEST_PLAN: Final = 512
_NOTHING: Final = np.zeros(0, dtype=np.intp)

Supposing = Callable[[Rows, Counts], Scores]
"""Scores of nodes [K] with so many more tasks [K] on each."""


def best_first(scores: Scores, ties: NDArray[np.int64], count: int) -> Rows:
    """Positions of the `count` best by (score descending, tie rank)."""
    if count >= len(scores):
        return np.arange(len(scores))
    threshold = np.partition(scores, len(scores) - count)[len(scores) - count]
    above = np.flatnonzero(scores > threshold)
    equal = np.flatnonzero(scores == threshold)
    missing = count - len(above)
    if missing < len(equal):
        equal = equal[np.argpartition(ties[equal], missing - 1)[:missing]]
    return np.concatenate((above, equal))


def replay(
    ladder: Ladder, scores: Scores, ties: NDArray[np.int64], room: Counts, count: int, *, until_full: bool
) -> list[int]:
    """Positions of the nodes that `count` tasks take one after the other: take the best node, put it back with its
    score after one more task.

    `until_full`: stop when a node has no room left, because the scores of the others depend on which nodes have.
    """
    left, rank = room.tolist(), ties.tolist()
    placed = [0] * len(left)
    heap = [(-score, rank[i], i) for i, score in enumerate(scores.tolist())]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and len(chosen) < count:
        i = heap[0][2]
        chosen.append(i)
        placed[i] += 1
        if placed[i] < left[i]:
            heapq.heapreplace(heap, (-ladder.score(i, placed[i]), rank[i], i))
            continue
        heapq.heappop(heap)
        if until_full:
            break
    return chosen


class Ladder:
    """Scores of K nodes after 1, 2, 3, … more tasks, computed for all nodes, a few steps at a time.

    `fixed` [K] is the part of the scores that does not change; it is added in the same way as to the scores of now, so
    that equal sums are equal to the last bit.
    """

    def __init__(self, supposing: Supposing, rows: Rows, fixed: Scores | None, highest: int) -> None:
        self._supposing = supposing
        self._rows = rows
        self._fixed = fixed
        self._highest = highest
        self._steps: list[list[float]] = []

    def score(self, node: int, placed: int) -> float:
        while len(self._steps) < placed:
            self._climb()
        return self._steps[placed - 1][node]

    def _climb(self) -> None:
        first = len(self._steps) + 1
        last = max(first, min(self._highest, 2 * len(self._steps)))
        steps = np.arange(first, last + 1)
        scores = self._supposing(np.tile(self._rows, len(steps)), np.repeat(steps, len(self._rows)))
        by_step = scores.reshape(len(steps), len(self._rows))
        self._steps.extend((by_step if self._fixed is None else by_step + self._fixed).tolist())


class Plan:
    """The nodes that a class would take next, further than was asked for.

    It holds while only its own tasks touch nodes. It reaches further each time it was used up, so that jobs of a single
    task, which come one by one, cost little more than a gang.
    """

    __slots__ = ("_ahead", "_first", "_last", "_nodes", "_seen")

    def __init__(self) -> None:
        self._nodes = _NOTHING
        self._first = self._last = 0
        self._seen = 0
        self._ahead = 1

    def reach(self) -> int:
        """How far to plan."""
        return self._ahead

    def begin(self, nodes: Rows, count: int, position: int) -> Rows:
        """A new plan as of entry `position` of the log; its first `count` nodes."""
        self._nodes, self._first, self._last, self._seen = nodes, 0, min(count, len(nodes)), position
        return nodes[: self._last]

    def next(self, count: int, log: list[int]) -> Rows | None:
        """The next `count` nodes; None when the plan is used up or no longer holds."""
        if log[self._seen :] != self._nodes[self._first : self._last].tolist() or self._last == 0:
            self._ahead, self._last = 1, 0
            return None
        if self._last + count > len(self._nodes):
            self._ahead = min(2 * max(self._ahead, count), _LONGEST_PLAN)
            self._last = 0
            return None
        self._first, self._last, self._seen = self._last, self._last + count, len(log)
        return self._nodes[self._first : self._last]

    def rest(self) -> Rows:
        """All that is planned, from what was asked for last on."""
        self._last = len(self._nodes)
        return self._nodes[self._first :]

    def used(self, count: int) -> None:
        """Only the first `count` of the nodes given last are taken."""
        self._last = self._first + count
