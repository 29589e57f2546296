"""Choosing nodes: one vectorised evaluation per class of tasks, kept up to date as nodes fill.

For a class the placer holds, over all nodes, which may take it, how many more of it each has room for, and the score.
When a node is touched only its row is worked out again. A sweep places many tasks of a class at once with the outcome
of placing them one by one: a task always goes to the node that scores best at that moment, so K tasks can only ever
use the K best nodes, and among those a heap replays the sequence with scores worked out for «after one more, two
more, …» in whole columns.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.fit import explain_misfit
from volcano_py.framework.job import FitError
from volcano_py.framework.plugin import Reach
from volcano_py.framework.views import FITS, Codes, Counts, NodeView, Scores
from volcano_py.state.ledger import Rows
from volcano_py.state.task_class import TaskClass

if TYPE_CHECKING:
    from volcano_py.framework.dispatch import Call
    from volcano_py.framework.session import Session

# Past this share of dirty rows a whole column is cheaper to work out than its parts.
_REFRESH_ALL_ABOVE: Final = 0.25
# Nodes planned ahead for a class; past some hundreds the sweep costs as much as it saves.
_LONGEST_PLAN: Final = 512
# Classes times nodes whose evaluation is kept, at some 20 bytes each; the oldest class is evaluated anew when asked.
_MOST_KEPT: Final = 10_000_000
_NOTHING: Final = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class Choice:
    """Nodes for the next tasks of a class, in order; fewer than asked for when the rest has to be looked at anew."""

    nodes: Rows
    """[K] K may be 0: no node fits."""
    pipelined: bool = False
    """The nodes have room only once what is being released is free."""


class Plan:
    """The sequence of nodes a class would take next, worked out further than was asked for.

    It holds for as long as nothing but its own tasks touched a node. It reaches further each time it was used up, so
    that one-task jobs, which come one by one, cost little more than a gang.
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
        """The next `count` nodes, None when the plan is used up or no longer true."""
        if log[self._seen :] != self._nodes[self._first : self._last].tolist() or self._last == 0:
            self._ahead, self._last = 1, 0
            return None
        if self._last + count > len(self._nodes):
            self._ahead = min(2 * max(self._ahead, count), _LONGEST_PLAN)
            self._last = 0
            return None
        self._first, self._last, self._seen = self._last, self._last + count, len(log)
        return self._nodes[self._first : self._last]


@dataclass(slots=True)
class _ClassState:
    """What is known of one class over all nodes, as of entry `position` of the log of touched rows."""

    task_class: TaskClass
    predicate_reach: Reach
    batch_reach: Reach
    dims: NDArray[np.intp]
    codes: Codes
    room: Counts
    scores: Scores
    position: int
    bounds: list[Call] | None
    """Who tells how many tasks a node takes before its answer changes; None: ask again after each task."""
    plan: Plan = field(default_factory=Plan)


class Placer:
    """See the module. `tie_rank` [N] decides among equal scores, the lower rank first."""

    def __init__(self, ssn: Session, tie_rank: NDArray[np.int64]) -> None:
        self._ssn = ssn
        self._nodes = ssn.ledger.nodes
        self._tie_rank = tie_rank
        self._states: dict[int, _ClassState] = {}
        self._log: list[int] = []
        self._predicates = ssn.dispatch.calls("predicate")
        self._predicate_rooms = ssn.dispatch.calls("predicate_room")
        self._scores = ssn.dispatch.calls("node_order")
        self._batch_scores = ssn.dispatch.calls("batch_node_order")
        self._best = ssn.dispatch.calls("best_node")
        self._promised = bool(self._nodes.pipelined.any())
        self._all_rows: Rows = np.arange(self._nodes.size)

    def touch(self, nodes: Rows) -> None:
        """What is on these nodes has changed."""
        self._log.extend(nodes.tolist())
        self._promised = self._promised or bool(self._nodes.pipelined[nodes].any())

    def choose(self, task_class: TaskClass, count: int) -> Choice:
        """Nodes for up to `count` tasks of the class, in the order in which they would be placed one by one."""
        known = self._states.get(task_class.row)
        if known is not None and (planned := known.plan.next(count, self._log)) is not None:
            return Choice(planned)
        state = self._state(task_class)
        candidates = np.flatnonzero(state.room)
        if not len(candidates):
            return self._choose_future(state)
        if state.bounds is None:
            return Choice(self._best_of(state, candidates, state.room[candidates], 1))
        ahead = max(count, state.plan.reach())
        nodes = self._best_of(state, candidates, state.room[candidates], ahead)
        return Choice(state.plan.begin(nodes, count, len(self._log)))

    def choose_on(self, task_class: TaskClass, node: int) -> Choice:
        """The one node given (nominated earlier), if it fits."""
        state = self._state(task_class)
        rows = np.array([node], dtype=np.intp)
        if state.room[node] > 0:
            return Choice(rows)
        if state.codes[node] == FITS and self._room(state, rows, self._nodes.future_idle()[rows])[0] > 0:
            return Choice(rows, pipelined=True)
        return Choice(_NOTHING)

    def misfit(self, task_class: TaskClass) -> FitError:
        """Why no node takes the class, with the number of nodes per reason."""
        state = self._state(task_class)
        return explain_misfit(self._ssn, task_class, state.codes)

    # -- the kept evaluation ---------------------------------------------------------------------------------------

    def _state(self, task_class: TaskClass) -> _ClassState:
        state = self._states.get(task_class.row)
        if state is None:
            if len(self._states) * self._nodes.size >= _MOST_KEPT:
                del self._states[next(iter(self._states))]
            state = self._states[task_class.row] = self._evaluate(task_class)
            return state
        dirty = self._log[state.position :]
        if not dirty:
            return state
        state.position = len(self._log)
        if state.predicate_reach is Reach.DOMAIN or len(dirty) > _REFRESH_ALL_ABOVE * self._nodes.size:
            fresh = self._evaluate(task_class)
            state.codes, state.room, state.scores, state.bounds = fresh.codes, fresh.room, fresh.scores, fresh.bounds
            return state
        rows = np.unique(np.array(dirty, dtype=np.intp))
        if state.predicate_reach is Reach.ROW:
            state.codes[rows] = self._codes(task_class, rows)
        state.room[rows] = self._room_now(state, rows)
        state.scores[rows] = self._score(task_class, NodeView(self._nodes, rows))
        return state

    def _evaluate(self, task_class: TaskClass) -> _ClassState:
        rows = self._all_rows
        reach = self._reach(self._predicates, "predicate_reach", task_class, Reach.STATIC)
        state = _ClassState(
            task_class=task_class,
            predicate_reach=reach,
            batch_reach=self._reach(self._batch_scores, "batch_node_order_reach", task_class, Reach.FEASIBLE_SET),
            dims=task_class.requested,
            codes=self._codes(task_class, rows),
            room=np.zeros(len(rows), dtype=np.int64),
            scores=self._score(task_class, NodeView(self._nodes, rows)),
            position=len(self._log),
            bounds=self._bounds(task_class, reach),
        )
        state.room = self._room_now(state, rows)
        return state

    def _reach(self, calls: list[Call], question: str, task_class: TaskClass, least: Reach) -> Reach:
        """The widest reach that any plugin declares for the class."""
        order = list(Reach)
        widest = least
        for call in calls:
            reach: Reach = getattr(call.plugin, question)(task_class)
            if order.index(reach) > order.index(widest):
                widest = reach
        return widest

    def _bounds(self, task_class: TaskClass, reach: Reach) -> list[Call] | None:
        """The calls that bound a sweep of the class: one of each plugin whose answers move with the row."""
        if reach is Reach.STATIC:
            return []
        if reach is Reach.DOMAIN:
            return None
        moving = [call.plugin for call in self._predicates if call.plugin.predicate_reach(task_class) is Reach.ROW]
        bounds = {call.plugin.name: call for call in self._predicate_rooms}
        if any(plugin.name not in bounds for plugin in moving):
            return None
        return [bounds[name] for name in dict.fromkeys(plugin.name for plugin in moving)]

    def _codes(self, task_class: TaskClass, rows: Rows) -> Codes:
        """[K] the first refusal of each node; nodes that do not exist are refused without being asked."""
        codes = np.where(self._nodes.present[rows], FITS, self._ssn.absent_node).astype(np.int32)
        for call in self._predicates:
            open_rows = codes == FITS
            if not open_rows.any():
                break
            answer = call(task_class, NodeView(self._nodes, rows))
            codes = np.where(open_rows, answer, codes)
        return codes

    def _score(self, task_class: TaskClass, view: NodeView) -> Scores:
        total = np.zeros(len(view))
        for call in self._scores:
            total += call(task_class, view)
        return total

    def _room_now(self, state: _ClassState, rows: Rows) -> Counts:
        """[K] how many tasks fit into what is free and not promised to others, and pass the predicates."""
        idle = self._nodes.allocatable[rows] - self._nodes.used[rows]
        if self._promised:
            future = idle + self._nodes.releasing[rows] - self._nodes.pipelined[rows]
            idle = np.minimum(idle, future)
        room = self._room(state, rows, idle)
        for call in state.bounds or ():
            bound: Counts | None = call(state.task_class, NodeView(self._nodes, rows))
            if bound is None:
                state.bounds = None
                break
            # the predicate itself has passed a first task
            np.minimum(room, np.maximum(bound, 1), out=room)
        return room

    @staticmethod
    def _room(state: _ClassState, rows: Rows, free: NDArray[np.int64]) -> Counts:
        request = state.task_class.request
        room = np.full(len(rows), np.iinfo(np.int64).max, dtype=np.int64)
        for dim in state.dims:
            np.minimum(room, free[:, dim] // request[dim], out=room)
        np.maximum(room, 0, out=room)
        room[state.codes[rows] != FITS] = 0
        return room

    # -- choosing --------------------------------------------------------------------------------------------------

    def _choose_future(self, state: _ClassState) -> Choice:
        rows = self._all_rows
        room = self._room(state, rows, self._nodes.future_idle())
        candidates = np.flatnonzero(room)
        if not len(candidates):
            return Choice(_NOTHING)
        return Choice(self._best_of(state, candidates, room[candidates], 1), pipelined=True)

    def _best_of(self, state: _ClassState, rows: Rows, room: NDArray[np.int64], count: int) -> Rows:
        scores = state.scores[rows]
        batch = self._batch(state, rows)
        if batch is not None:
            scores = scores + batch
            if state.batch_reach is Reach.DOMAIN:
                count = 1
        for call in self._best:
            position = call(state.task_class, NodeView(self._nodes, rows), scores)
            if position is not None:
                return rows[position : position + 1]
        ties = self._tie_rank[rows]
        if count == 1:
            best = np.flatnonzero(scores == scores.max())
            winner = best[int(np.argmin(ties[best]))]
            return rows[winner : winner + 1]
        top = _top(scores, ties, count)
        return self._replay(state, rows[top], scores[top], room[top], ties[top], count, normalised=batch)

    def _batch(self, state: _ClassState, rows: Rows) -> Scores | None:
        total: Scores | None = None
        for call in self._batch_scores:
            scores = call(state.task_class, NodeView(self._nodes, rows))
            if scores is not None:
                total = scores if total is None else total + scores
        return total

    def _replay(
        self,
        state: _ClassState,
        rows: Rows,
        scores: Scores,
        room: NDArray[np.int64],
        ties: NDArray[np.int64],
        count: int,
        *,
        normalised: Scores | None,
    ) -> Rows:
        """Place one by one among the K best: pop the best node, put it back with its score after one more task."""
        own = state.scores[rows]
        offsets = (scores - own).tolist()
        ladder = _Ladder(self, state.task_class, rows, int(min(room.max(), count)))
        left, rank = room.tolist(), ties.tolist()
        placed = [0] * len(rows)
        heap = [(-score, rank[i], i) for i, score in enumerate(scores.tolist())]
        heapq.heapify(heap)
        chosen: list[int] = []
        while heap and len(chosen) < count:
            i = heap[0][2]
            chosen.append(i)
            placed[i] += 1
            if placed[i] < left[i]:
                heapq.heapreplace(heap, (-(ladder.score(i, placed[i]) + offsets[i]), rank[i], i))
                continue
            heapq.heappop(heap)
            if normalised is not None:
                # the feasible set has shrunk, so normalised scores have to be asked for again
                break
        return rows[chosen]

    def ladder_scores(self, task_class: TaskClass, rows: Rows, placed: NDArray[np.int64]) -> Scores:
        """[K] row scores supposing `placed` [K] more tasks."""
        return self._score(task_class, NodeView(self._nodes, rows, task_class, placed))


class _Ladder:
    """Scores of K nodes after 1, 2, 3, … more tasks, worked out a few steps for all nodes at a time."""

    def __init__(self, placer: Placer, task_class: TaskClass, rows: Rows, highest: int) -> None:
        self._placer = placer
        self._task_class = task_class
        self._rows = rows
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
        placed = np.repeat(steps, len(self._rows))
        scores = self._placer.ladder_scores(self._task_class, np.tile(self._rows, len(steps)), placed)
        self._steps.extend(scores.reshape(len(steps), len(self._rows)).tolist())


def _top(scores: Scores, ties: NDArray[np.int64], count: int) -> Rows:
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
