"""Choosing nodes: one vectorised evaluation per class of tasks, kept up to date as nodes fill.

For a class the placer holds, over all nodes, which may take it, how many more of it each has room for, and the score.
When a node is touched only its row is worked out again, and while none is touched an answer is given once: ten
thousand jobs that fit nowhere cost little more than one. Many tasks at a time are placed by a sweep (see sweep.py).
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.calls.domain_score_guard import domain_score_of
from volcano_py.framework.domain_filters import DomainFilter, DomainFilters, best_per_group, replay_filtered
from volcano_py.framework.domain_scores import DomainScore, on_grid
from volcano_py.framework.job import FitError
from volcano_py.framework.placement.class_state import ClassState, distinct, reaches_of, widest
from volcano_py.framework.placement.domain_sweep import DomainSweep
from volcano_py.framework.placement.fit import explain_misfit
from volcano_py.framework.placement.sweep import Ladder, best_first, replay
from volcano_py.framework.plugin import Reach
from volcano_py.framework.views import FITS, Codes, Counts, NodeView, Scores
from volcano_py.state.table.ledger import Rows
from volcano_py.state.task_class import TaskClass

if TYPE_CHECKING:
    from volcano_py.framework.calls.dispatch import Call
    from volcano_py.framework.session import Session

# Past this share of dirty rows a whole column is cheaper to work out than its parts.
_REFRESH_ALL_ABOVE: Final = 0.25
# Classes times nodes whose evaluation is kept, at some 30 bytes each; the oldest class is evaluated anew when asked.
_MOST_KEPT: Final = 10_000_000
_NOTHING: Final = np.zeros(0, dtype=np.intp)


class Choice(msgspec.Struct, frozen=True):
    """Nodes for the next tasks of a class, in order; fewer than asked for when the rest has to be looked at anew."""

    nodes: Rows
    """[K] K may be 0: no node fits."""
    pipelined: bool = False
    """The nodes have room only once what is being released is free."""


class StageSeconds(msgspec.Struct):
    """Seconds that each look of a class of tasks at all nodes took; rows looked at again are not in it."""

    predicate: list[float] = msgspec.field(default_factory=list)
    scoring: list[float] = msgspec.field(default_factory=list)


class Placer:
    """See the module. `tie_rank` [N] decides among equal scores, the lower rank first."""

    def __init__(self, ssn: Session, tie_rank: NDArray[np.int64]) -> None:
        self._ssn = ssn
        self._nodes = ssn.ledger.nodes
        self._tie_rank = tie_rank
        self._states: dict[int, ClassState] = {}
        self._log: list[int] = []
        self._predicates = ssn.dispatch.calls("predicate")
        self._predicate_rooms = ssn.dispatch.calls("predicate_room")
        self._domain_filters = ssn.dispatch.calls("domain_filter")
        self._scores = ssn.dispatch.calls("node_order")
        self._batch_scores = ssn.dispatch.calls("batch_node_order")
        self._domain_scores = ssn.dispatch.calls("domain_order")
        self._best = ssn.dispatch.calls("best_node")
        self._promised = bool(self._nodes.pipelined.any())
        self._all_rows: Rows = np.arange(self._nodes.size)
        self.stages = StageSeconds()

    def touch(self, nodes: Rows, *, promised: bool = False) -> None:
        """What is on these nodes has changed; `promised`: among other things, somebody was promised room there."""
        self._log.extend(nodes.tolist())
        self._promised = self._promised or promised

    def choose(self, task_class: TaskClass, count: int) -> Choice:
        """Nodes for up to `count` tasks of the class, in the order in which they would be placed one by one."""
        known = self._states.get(task_class.row)
        if known is not None and (planned := known.plan.next(count, self._log)) is not None:
            return Choice(planned)
        state = self._state(task_class)
        if state.full_at == len(self._log):
            return Choice(_NOTHING)
        candidates = np.flatnonzero(state.open_room(state.room))
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
        if state.open_room(state.room)[node] > 0:
            return Choice(rows)
        filters = self._filters_then(state)
        if filters is not None and filters.codes[node] != FITS:
            return Choice(_NOTHING)
        if self._room_then(state, rows)[0] > 0:
            return Choice(rows, pipelined=True)
        return Choice(_NOTHING)

    def codes(self, task_class: TaskClass) -> Codes:
        """[N] the first refusal of each node, whatever room it has."""
        return self._state(task_class).refusals()

    def feasible(self, task_class: TaskClass) -> Rows:
        """[K] the nodes that would take a task of the class now."""
        state = self._state(task_class)
        return np.flatnonzero(state.open_room(state.room))

    def may_take(self, task_class: TaskClass, node: int) -> bool:
        """Whether the node will take the class, whatever room it has, once terminating pods are gone."""
        if self._codes(task_class, np.array([node], dtype=np.intp), released=True)[0] != FITS:
            return False
        filters = self._filters_of(task_class, released=True)
        return filters is None or bool(filters.codes[node] == FITS)

    def ranked(self, task_class: TaskClass, rows: Rows) -> Rows:
        """The nodes `rows` by score, best first, whatever room they have."""
        if len(rows) <= 1:
            return rows
        state = self._state(task_class)
        scores, batch = state.scores[rows], self._batch(state, rows)
        if batch is not None:
            scores = scores + batch
        if (domain_score := self._domain_score(task_class)) is not None:
            scores = on_grid(scores) + domain_score.over(rows)
        return rows[np.lexsort((self._tie_rank[rows], -scores))]

    def misfit(self, task_class: TaskClass) -> FitError:
        """Why no node takes the class, with the number of nodes per reason."""
        state = self._state(task_class)
        if state.misfit is None or state.misfit[0] != len(self._log):
            state.misfit = (len(self._log), explain_misfit(self._ssn, task_class, state.refusals()))
        return state.misfit[1]

    # -- the kept evaluation ---------------------------------------------------------------------------------------

    def _state(self, task_class: TaskClass) -> ClassState:
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
        if len(dirty) > _REFRESH_ALL_ABOVE * self._nodes.size:
            fresh = self._evaluate(task_class)
            state.codes, state.fit, state.room, state.scores = fresh.codes, fresh.fit, fresh.room, fresh.scores
            state.bounds, state.filters = fresh.bounds, fresh.filters
            return state
        rows = distinct(dirty, self._nodes.size)
        state.scores[rows] = self._score(task_class, NodeView(self._nodes, rows))
        state.fit[rows] = self._fit(task_class, rows)
        if state.predicate_reach is Reach.DOMAIN:
            state.bounds, rows = self._bounds(self._predicate_reaches(task_class)), self._all_rows
        if state.predicate_reach is not Reach.STATIC:
            state.codes[rows] = self._codes(task_class, rows)
        state.room[rows] = self._room_now(state, rows)
        if state.filters is not None:
            state.filters = self._filters_of(task_class)
        return state

    def _evaluate(self, task_class: TaskClass) -> ClassState:
        rows = self._all_rows
        reaches = self._predicate_reaches(task_class)
        started = time.perf_counter()
        codes = self._codes(task_class, rows)
        judged = time.perf_counter()
        scores = self._score(task_class, NodeView(self._nodes, rows))
        self.stages.predicate.append(judged - started)
        self.stages.scoring.append(time.perf_counter() - judged)
        state = ClassState(
            task_class=task_class,
            predicate_reach=widest(Reach.STATIC, reaches.values()),
            batch_reach=widest(
                Reach.FEASIBLE_SET, reaches_of(self._batch_scores, "batch_node_order_reach", task_class)
            ),
            codes=codes,
            fit=self._fit(task_class, rows),
            room=np.zeros(len(rows), dtype=np.int64),
            scores=scores,
            position=len(self._log),
            bounds=self._bounds(reaches),
            filters=self._filters_of(task_class),
        )
        state.room = self._room_now(state, rows)
        return state

    def _filters_of(self, task_class: TaskClass, *, released: bool = False) -> DomainFilters | None:
        view = NodeView(self._nodes, self._all_rows, released=released)
        filters = DomainFilters(self._domain_filters, task_class, view)
        return filters if len(filters) else None

    def _filters_then(self, state: ClassState) -> DomainFilters | None:
        """The domain filters once terminating pods are gone and promised places are taken."""
        return None if state.filters is None else self._filters_of(state.task_class, released=True)

    def _predicate_reaches(self, task_class: TaskClass) -> dict[str, Reach]:
        """Plugin name → how far a placement moves its answers for the class."""
        names = [call.plugin.name for call in self._predicates]
        return dict(zip(names, reaches_of(self._predicates, "predicate_reach", task_class), strict=True))

    def _bounds(self, reaches: dict[str, Reach]) -> list[Call] | None:
        """The calls that bound a sweep of the class: one of each plugin whose answers move."""
        moving = [name for name, reach in reaches.items() if reach is not Reach.STATIC]
        bounds = {call.plugin.name: call for call in self._predicate_rooms}
        return [bounds[name] for name in moving] if bounds.keys() >= set(moving) else None

    def _codes(self, task_class: TaskClass, rows: Rows, *, released: bool = False) -> Codes:
        """[K] the first refusal of each node; nodes that do not exist are refused without being asked."""
        codes = np.where(self._nodes.present[rows], FITS, self._ssn.absent_node).astype(np.int32)
        for call in self._predicates:
            open_rows = codes == FITS
            if not open_rows.any():
                break
            answer = call(task_class, NodeView(self._nodes, rows, released=released))
            codes = np.where(open_rows, answer, codes)
        return codes

    def _codes_then(self, state: ClassState, rows: Rows) -> Codes:
        """[K] refusals once terminating pods are gone and promised places are taken."""
        codes = state.codes[rows]
        if not (self._promised or self._nodes.releasing.any()):
            return codes
        moot = np.flatnonzero(self._ssn.transient(codes))
        if len(moot):
            codes[moot] = self._codes(state.task_class, rows[moot], released=True)
        return codes

    def _score(self, task_class: TaskClass, view: NodeView) -> Scores:
        total = np.zeros(len(view))
        for call in self._scores:
            total += call(task_class, view)
        return total

    def _fit(self, task_class: TaskClass, rows: Rows) -> Counts:
        """[K] how many tasks fit into what is free and not promised to others."""
        idle = self._nodes.allocatable[rows] - self._nodes.used[rows]
        if self._promised:
            idle = np.minimum(idle, self._future_idle(rows))
        return self._room(task_class, idle)

    def _room_now(self, state: ClassState, rows: Rows) -> Counts:
        """[K] how many of the tasks that fit pass the predicates."""
        room = np.where(state.codes[rows] == FITS, state.fit[rows], 0)
        for call in state.bounds or ():
            bound: Counts | None = call(state.task_class, NodeView(self._nodes, rows))
            if bound is None:
                state.bounds = None
                break
            # the predicate itself has passed a first task
            np.minimum(room, np.maximum(bound, 1), out=room)
        return room

    def _future_idle(self, rows: Rows) -> NDArray[np.int64]:
        """[K, R] what will be free when terminating pods are gone and promised places are taken."""
        # all of them without a copy of every column
        return self._nodes.future_idle() if rows is self._all_rows else self._nodes.future_idle(rows)

    @staticmethod
    def _room(task_class: TaskClass, free: NDArray[np.int64]) -> Counts:
        """[K] how many tasks fit into `free` [K, R]."""
        request = task_class.request
        room = np.full(len(free), np.iinfo(np.int64).max, dtype=np.int64)
        for dim in task_class.requested:
            np.minimum(room, free[:, dim] // request[dim], out=room)
        return np.maximum(room, 0, out=room)

    def _room_then(self, state: ClassState, rows: Rows) -> Counts:
        """[K] as `room`, once terminating pods are gone and promised places are taken."""
        room = self._room(state.task_class, self._future_idle(rows))
        return np.where(self._codes_then(state, rows) == FITS, room, 0)

    # -- choosing --------------------------------------------------------------------------------------------------

    def _choose_future(self, state: ClassState) -> Choice:
        room = self._room_then(state, self._all_rows)
        filters = self._filters_then(state)
        candidates = np.flatnonzero(room if filters is None else filters.open_room(room))
        if not len(candidates):
            state.full_at = len(self._log)
            return Choice(_NOTHING)
        return Choice(self._best_of(state, candidates, room[candidates], 1), pipelined=True)

    def _best_of(self, state: ClassState, rows: Rows, room: NDArray[np.int64], count: int) -> Rows:
        scores = state.scores[rows]
        batch = self._batch(state, rows)
        if batch is not None:
            scores = scores + batch
        sole = None if state.filters is None else state.filters.sole
        if state.batch_reach is Reach.DOMAIN:
            count = 1
        elif count > 1 and state.filters is not None:
            # Batch scores may be normalised over the open nodes, and a domain filter changes these at each step.
            count = count if sole is not None and self._batch(state, np.flatnonzero(state.room)) is None else 1
        domain_score = self._domain_score(state.task_class)
        if domain_score is not None:
            if count > 1 and not self._best:
                swept = self._sweep_domains(state, rows, room, count, scores, batch, domain_score)
                if swept is not None:
                    return swept
            scores, count = on_grid(scores) + domain_score.over(rows), 1
        for call in self._best:
            position = call(state.task_class, NodeView(self._nodes, rows), scores)
            if position is not None:
                return rows[position : position + 1]
        if sole is not None and count > 1:
            return self._sweep_filtered(state, *sole, count)
        ties = self._tie_rank[rows]
        if count == 1:
            best = np.flatnonzero(scores == scores.max())
            winner = best[int(np.argmin(ties[best]))]
            return rows[winner : winner + 1]
        top = best_first(scores, ties, count)
        fixed = None if batch is None else batch[top]
        highest = int(min(room[top].max(), count))
        ladder = Ladder(partial(self._supposing, state.task_class), rows[top], fixed, highest)
        # A node that fills up leaves the feasible set, over which batch scores may be normalised.
        chosen = replay(ladder, scores[top], ties[top], room[top], count, until_full=batch is not None)
        return rows[top[chosen]]

    def _sweep_filtered(self, state: ClassState, call: Call, domain_filter: DomainFilter, count: int) -> Rows:
        """The nodes of up to `count` tasks, while the class's one domain filter opens and closes groups of nodes."""
        rows = np.flatnonzero(state.room)
        groups, scores, ties = domain_filter.groups[rows], state.scores[rows], self._tie_rank[rows]
        top = best_per_group(scores, ties, groups, count)
        rows, room = rows[top], state.room[rows[top]]
        ladder = Ladder(partial(self._supposing, state.task_class), rows, None, int(min(room.max(), count)))

        def sweep() -> list[int]:
            return replay_filtered(ladder, scores[top], ties[top], room, groups[top], domain_filter, count)

        nothing: list[int] = []
        return rows[self._ssn.dispatch.guard(call.plugin, call.point, sweep, nothing)]

    def _domain_score(self, task_class: TaskClass) -> DomainScore | None:
        return domain_score_of(self._domain_scores, task_class, NodeView(self._nodes, self._all_rows))

    def _sweep_domains(
        self,
        state: ClassState,
        rows: Rows,
        room: Counts,
        count: int,
        scores: Scores,
        fixed: Scores | None,
        domain_score: DomainScore,
    ) -> Rows | None:
        """The nodes of up to `count` tasks; None when the class's one domain filter fails while it looks ahead."""
        sole = None if state.filters is None else state.filters.sole
        if sole is not None:
            rows = np.flatnonzero(state.room)
            room, scores = state.room[rows], state.scores[rows]
        most, supposing = int(min(room.max(), count)), partial(self._supposing, state.task_class)
        sweep = DomainSweep(
            rows=rows,
            scores=scores,
            ties=self._tie_rank[rows],
            room=room,
            fixed=fixed,
            domain_score=domain_score,
            domain_filter=None if sole is None else sole[1],
            ladder=lambda nodes, its_fixed: Ladder(supposing, nodes, its_fixed, most),
        )
        if sole is None:
            return sweep.nodes(count)
        call, nothing = sole[0], None
        return self._ssn.dispatch.guard(call.plugin, call.point, lambda: sweep.nodes(count), nothing)

    def _supposing(self, task_class: TaskClass, rows: Rows, placed: Counts) -> Scores:
        return self._score(task_class, NodeView(self._nodes, rows, task_class, placed))

    def _batch(self, state: ClassState, rows: Rows) -> Scores | None:
        total: Scores | None = None
        for call in self._batch_scores:
            scores = call(state.task_class, NodeView(self._nodes, rows))
            if scores is not None:
                total = scores if total is None else total + scores
        return total
