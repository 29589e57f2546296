"""How nodes are chosen for the next tasks of a class: one by one, or by a sweep, with the same nodes in the same order.

`OneByOne` is the definition. A sweep looks many tasks ahead, so whatever changes with each task must be known ahead:
room (`predicate_room`), domain filters, domain scores. `Strategies.of` decides which strategy holds. A strategy sees
its candidates and nothing else: to keep a gang in one part of the cluster, offer only the nodes of that part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.placement.class_state import Candidates
from volcano_py.framework.placement.domain_sweep import DomainReplay
from volcano_py.framework.placement.evaluator import Evaluator
from volcano_py.framework.placement.filtered_sweep import best_per_group, replay_filtered
from volcano_py.framework.placement.sweep import best_first, replay
from volcano_py.framework.plugin import Reach
from volcano_py.state.table.table import Rows


class Strategy(ABC):
    """One way to choose nodes."""

    def __init__(self, evaluator: Evaluator, tie_rank: NDArray[np.int64]) -> None:
        """`tie_rank` [N] decides among equal scores, the lower rank first."""
        self._evaluator = evaluator
        self._tie_rank = tie_rank

    @abstractmethod
    def nodes(self, candidates: Candidates, count: int) -> Rows:
        """The nodes that the next tasks take, in order: at most `count`, fewer when it cannot look further ahead."""


class Strategies:
    """The strategies of one session."""

    def __init__(self, evaluator: Evaluator, tie_rank: NDArray[np.int64]) -> None:
        self._evaluator = evaluator
        self.one_by_one: Strategy = OneByOne(evaluator, tie_rank)
        self._plain: Strategy = PlainSweep(evaluator, tie_rank)
        self._filtered: Strategy = FilteredSweep(evaluator, tie_rank)
        self._domain: Strategy = DomainSweep(evaluator, tie_rank, self.one_by_one)

    def of(self, candidates: Candidates, count: int) -> Strategy:
        """The strategy that places `count` tasks as if they were placed one by one.

        A class keeps its strategy through a cycle, unless a plugin fails or, at times, has no bounds or batch scores.
        """
        state, filters = candidates.state, candidates.filters
        if count == 1 or state.bounds is None or state.batch_reach is Reach.DOMAIN:
            return self.one_by_one
        if filters is not None and (filters.sole is None or self._has_batch_scores(candidates)):
            return self.one_by_one
        if candidates.domain_score is not None:
            return self.one_by_one if self._evaluator.has_best_node else self._domain
        return self._plain if filters is None else self._filtered

    def _has_batch_scores(self, candidates: Candidates) -> bool:
        """They may be normalised over the open nodes, which a domain filter changes at each step."""
        return self._evaluator.batch_scores(candidates.state, candidates.with_room) is not None


class OneByOne(Strategy):
    """The best node of this moment, for one task."""

    def nodes(self, candidates: Candidates, count: int) -> Rows:  # noqa: ARG002
        rows, state = candidates.open, candidates.state
        scores = self._evaluator.total_scores(state, rows, candidates.domain_score)
        if (named := self._evaluator.best_node(state.task_class, rows, scores)) is not None:
            return named
        best = np.flatnonzero(scores == scores.max())
        winner = int(best[np.argmin(self._tie_rank[rows[best]])])
        return rows[winner : winner + 1]


class PlainSweep(Strategy):
    """For classes where a task changes only the score and the room of its own node; see sweep.py."""

    def nodes(self, candidates: Candidates, count: int) -> Rows:
        rows, state = candidates.open, candidates.state
        scores, batch = self._evaluator.scores(state, rows)
        if (named := self._evaluator.best_node(state.task_class, rows, scores)) is not None:
            return named
        ties = self._tie_rank[rows]
        top = best_first(scores, ties, count)
        room = candidates.room[rows[top]]
        fixed = None if batch is None else batch[top]
        ladder = self._evaluator.ladder(state.task_class, rows[top], fixed, int(min(room.max(), count)))
        # A node that fills up leaves the feasible set, over which batch scores may be normalised.
        chosen = replay(ladder, scores[top], ties[top], room, count, until_full=batch is not None)
        return rows[top[chosen]]


class FilteredSweep(Strategy):
    """For classes with one domain filter, which opens and closes groups of nodes on the way; see filtered_sweep.py."""

    def nodes(self, candidates: Candidates, count: int) -> Rows:
        """Empty when the filter fails while it looks ahead."""
        state, evaluator = candidates.state, self._evaluator
        if evaluator.has_best_node:
            scores, _ = evaluator.scores(state, candidates.open)
            if (named := evaluator.best_node(state.task_class, candidates.open, scores)) is not None:
                return named
        assert candidates.sole_filter is not None, "see Strategies.of"
        call, domain_filter = candidates.sole_filter
        rows = candidates.with_room
        groups, scores, ties = domain_filter.groups[rows], evaluator.own_scores(state, rows), self._tie_rank[rows]
        top = best_per_group(scores, ties, groups, count)
        rows, room = rows[top], candidates.room[rows[top]]
        ladder = evaluator.ladder(state.task_class, rows, None, int(min(room.max(), count)))

        def sweep() -> list[int]:
            return replay_filtered(ladder, scores[top], ties[top], room, groups[top], domain_filter, count)

        nothing: list[int] = []
        return rows[call.guard(sweep, nothing)]


class DomainSweep(Strategy):
    """For classes with a domain score, and at most one domain filter; see domain_sweep.py."""

    def __init__(self, evaluator: Evaluator, tie_rank: NDArray[np.int64], one_by_one: Strategy) -> None:
        super().__init__(evaluator, tie_rank)
        self._one_by_one = one_by_one

    def nodes(self, candidates: Candidates, count: int) -> Rows:
        """One by one when the filter fails while it looks ahead."""
        assert candidates.domain_score is not None, "see Strategies.of"
        sole, state = candidates.sole_filter, candidates.state
        rows = candidates.open if sole is None else candidates.with_room
        room = candidates.room[rows]
        scores, batch = self._evaluator.scores(state, rows)
        highest = int(min(room.max(), count))
        start = DomainReplay(
            rows=rows,
            scores=scores,
            ties=self._tie_rank[rows],
            room=room,
            fixed=batch,
            domain_score=candidates.domain_score,
            domain_filter=None if sole is None else sole[1],
            ladder=lambda nodes, fixed: self._evaluator.ladder(state.task_class, nodes, fixed, highest),
        )
        if sole is None:
            return start.nodes(count)
        failed = None
        found = sole[0].guard(lambda: start.nodes(count), failed)
        return self._one_by_one.nodes(candidates, 1) if found is None else found
