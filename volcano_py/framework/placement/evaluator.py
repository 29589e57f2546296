"""Plugins' answers about a class of tasks over all nodes: refusals, room and scores, now and as they will be.

*Then* in a name means: once terminating pods are gone and promised places are taken.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.calls.dispatch import Call, Dispatch
from volcano_py.framework.calls.domain_score_guard import domain_score_of
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.domain_scores import DomainScore, on_grid
from volcano_py.framework.placement.class_filters import DomainFilters
from volcano_py.framework.placement.class_state import ClassState, reaches_of, widest
from volcano_py.framework.placement.sweep import Ladder
from volcano_py.framework.plugin import GoesBy, Reach
from volcano_py.framework.views import FITS, ClassesView, Codes, Counts, NodeView, Scores
from volcano_py.state.snapshot import Snapshot
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

_NO_OFFER: Final = -np.inf
_HOME: Final = 1e8
"""Added to the scores of nodes of the own shard: far above what plugins give, and still exact to a millionth."""


class StageSeconds(msgspec.Struct):
    """Seconds that each evaluation of a class over all nodes took; partial updates are not in it. A class that no node
    takes has no scores."""

    predicate: list[float] = msgspec.field(default_factory=list)
    scoring: list[float] = msgspec.field(default_factory=list)


class Evaluator:
    """See the module.

    Attributes:
        all_rows: [N] every node.
        is_promised: whether any node has promised room to a task.
        has_best_node: whether any plugin may name the node itself.
        stages: how long evaluations took.
        asks_late: whether any plugin has to be asked about nodes before they are used.
    """

    def __init__(self, cluster: ClusterCopy, dispatch: Dispatch) -> None:
        self._cluster = cluster
        self._nodes = cluster.ledger.nodes
        self._predicates = dispatch.calls("predicate")
        self._late = dispatch.calls("late_predicate")
        self._predicate_rooms = dispatch.calls("predicate_room")
        self._filters = dispatch.calls("domain_filter")
        self._scores = dispatch.calls("node_order")
        self._batch_scores = dispatch.calls("batch_node_order")
        self._domain_scores = dispatch.calls("domain_order")
        self._best = dispatch.calls("best_node")
        self._class_scores = dispatch.calls("node_orders")
        self._of_other_nodes = [*self._batch_scores, *self._domain_scores]
        self._scores_in_bulk = plugins_of(self._class_scores) == plugins_of(self._scores) and not self._best
        """Whether scores of several classes can be asked for at once."""
        self.all_rows: Rows = np.arange(self._nodes.size)
        self.is_promised = bool(self._nodes.pipelined.any())
        self._returns = bool(cluster.snapshot.devices.going.any()) or cluster.snapshot.numa.has_any_left
        self.has_best_node = bool(self._best)
        self.asks_late = bool(self._late)
        self.stages = StageSeconds()
        self._home = _at_home(cluster.snapshot)
        self._last_fit: tuple[int, bytes, Counts] | None = None
        """Position, request and answer of the last look at the room of all nodes: many classes ask for the same."""
        self._most_free: tuple[int, list[int]] = (-1, [])
        """Position, and the most that any node has free then of each resource."""

    @property
    def will_change(self) -> bool:
        """Whether any node will be other than it is once terminating pods are gone, claims of pods that are gone give
        their devices back, CPUs of such pods are shown as free, and promised places are taken."""
        return self.is_promised or self._returns or bool(self._nodes.releasing.any())

    def promise(self) -> None:
        """A node has promised room to a task."""
        self.is_promised = True

    # -- the evaluation of a class ---------------------------------------------------------------------------------

    def evaluate(self, task_class: TaskClass, position: int) -> ClassState:
        """The class over all nodes, as of `position` in the log of touched nodes."""
        rows = self.all_rows
        reaches = self._predicate_reaches(task_class)
        codes = self.codes_of_all(task_class)
        state = ClassState(
            task_class=task_class,
            predicate_reach=widest(Reach.STATIC, reaches.values()),
            batch_reach=widest(
                Reach.FEASIBLE_SET, reaches_of(self._batch_scores, "batch_node_order_reach", task_class)
            ),
            codes=codes,
            fit=self._fit_of_all(task_class, position),
            room=np.zeros(len(rows), dtype=np.int64),
            position=position,
            bounds=self._bounds(reaches),
            filters=self.filters(task_class),
        )
        state.room = self._room_now(state, rows)
        return state

    def refresh(self, state: ClassState, rows: Rows, position: int) -> None:
        """Bring the evaluation up to date after the nodes `rows` were touched, as of `position` in the log of them."""
        task_class = state.task_class
        if state.scores is not None:
            state.scores[rows] = self._score(task_class, NodeView(self._nodes, rows))
        state.fit[rows] = self._fit(task_class, rows)
        if state.predicate_reach is Reach.DOMAIN:
            state.bounds, rows = self._bounds(self._predicate_reaches(task_class)), self.all_rows
        if state.predicate_reach is not Reach.STATIC:
            state.codes[rows] = self.codes(task_class, rows)
        state.room[rows] = self._room_now(state, rows)
        if state.filters is not None:
            state.filters = self.filters(task_class)
        state.position = position

    # -- several classes at once -----------------------------------------------------------------------------------

    def is_plain(self, task_class: TaskClass) -> bool:
        """Whether a task of the class, wherever it is placed, changes only the room and the score of its own node, and
        plugins score several such classes at once."""
        reaches = self._predicate_reaches(task_class).values()
        return (
            self._scores_in_bulk
            and not self.asks_late
            and all(reach is Reach.STATIC for reach in reaches)
            and all(call.ask("scores_nodes_alone", task_class, otherwise=False) for call in self._of_other_nodes)
            and self.filters(task_class) is None
        )

    def goes_by(self, task_class: TaskClass) -> GoesBy:
        """What changes the refusals of the class."""
        reaches = self._predicate_reaches(task_class)
        moved = [call for call in self._predicates if reaches[call.plugin.name] is not Reach.STATIC]
        asked = (*moved, *self._filters)
        answers = [call.ask("predicate_goes_by", task_class, otherwise=GoesBy.UNKNOWN) for call in asked]
        return max(answers, default=GoesBy.PODS)

    def offers(self, classes: Sequence[TaskClass], rows: Rows, placed: Sequence[TaskClass] | None = None) -> Scores:
        """[C, K] the scores of the nodes for each class, minus infinity where there is no room for one more of its
        tasks. Refusals are left out. `placed` [K]: suppose that each node holds a task of that class besides."""
        view = ClassesView(self._nodes, rows, classes)
        if placed is not None:
            view.suppose(placed)
        total = np.zeros((len(classes), len(rows)))
        if self._home is not None:
            total += self._home[rows]
        for call in self._class_scores:
            total += call(view)
        free = view.free if self.is_promised else view.idle
        for dim, most in enumerate(view.request.max(axis=0).tolist()):
            # Most nodes have room for all; only the others are compared with each class.
            if most and len(tight := np.flatnonzero(free[:, dim] < most)):
                asked = view.request[:, dim, None]
                total[:, tight] = np.where((free[tight, dim] < asked) & (asked > 0), _NO_OFFER, total[:, tight])
        return total

    # -- refusals --------------------------------------------------------------------------------------------------

    def codes(self, task_class: TaskClass, rows: Rows, *, released: bool = False) -> Codes:
        """[K] the first refusal of each node; nodes that do not exist are refused without being asked."""
        codes = np.where(self._nodes.present[rows], FITS, self._cluster.absent_node).astype(np.int32)
        for call in self._predicates:
            open_rows = codes == FITS
            if not open_rows.any():
                break
            answer = call(task_class, NodeView(self._nodes, rows, released=released))
            codes = np.where(open_rows, answer, codes)
        return codes

    def codes_of_all(self, task_class: TaskClass) -> Codes:
        """[N] the first refusal of each node."""
        started = time.perf_counter()
        codes = self.codes(task_class, self.all_rows)
        self.stages.predicate.append(time.perf_counter() - started)
        return codes

    def accepts(self, state: ClassState, rows: Rows, others: Rows) -> bool:
        """Whether none of the nodes `rows` [K] is refused late. `others` are asked about as well. Nodes that are
        refused have no room for the class from now on."""
        asked = np.array([*dict.fromkeys((*rows.tolist(), *others.tolist()))], dtype=np.intp)
        answer = self.late_codes(state.task_class, asked)
        if (refused := answer != FITS).any():
            state.codes[asked[refused]], state.room[asked[refused]] = answer[refused], 0
            state.misfit = None
        return not refused[np.isin(asked, rows)].any()

    def late_codes(self, task_class: TaskClass, rows: Rows) -> Codes:
        """[K] the first late refusal of each node."""
        codes = np.full(len(rows), FITS, dtype=np.int32)
        for call in self._late:
            left = np.flatnonzero(codes == FITS)
            if len(left):
                codes[left] = call(task_class, NodeView(self._nodes, rows[left]))
        return codes

    def filters(self, task_class: TaskClass, *, released: bool = False) -> DomainFilters | None:
        """The domain filters of the class, `released`: as they will be then; None when it has none."""
        filters = DomainFilters(self._filters, task_class, NodeView(self._nodes, self.all_rows, released=released))
        return filters if len(filters) else None

    def filters_then(self, state: ClassState) -> DomainFilters | None:
        """The domain filters as they will be then."""
        return None if state.filters is None else self.filters(state.task_class, released=True)

    def _codes_then(self, state: ClassState, rows: Rows) -> Codes:
        codes = state.codes[rows]
        if not self.will_change:
            return codes
        moot = np.flatnonzero(self._cluster.transient(codes))
        if len(moot):
            codes[moot] = self.codes(state.task_class, rows[moot], released=True)
        return codes

    def _predicate_reaches(self, task_class: TaskClass) -> dict[str, Reach]:
        """Plugin name → how far a placement moves its answers for the class."""
        names = [call.plugin.name for call in self._predicates]
        return dict(zip(names, reaches_of(self._predicates, "predicate_reach", task_class), strict=True))

    # -- room ------------------------------------------------------------------------------------------------------

    def room_then(self, state: ClassState, rows: Rows) -> Counts:
        """[K] how many tasks each node will have room for then."""
        room = self._room(state.task_class, self._future_idle(rows))
        return np.where(self._codes_then(state, rows) == FITS, room, 0)

    def fit_then(self, task_class: TaskClass) -> Counts:
        """[N] for how many tasks of the class each node will have free what they request."""
        return self._room(task_class, self._future_idle(self.all_rows))

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

    def _bounds(self, reaches: dict[str, Reach]) -> list[Call] | None:
        """The calls that bound a sweep of the class: one of each plugin whose answers move."""
        moving = [name for name, reach in reaches.items() if reach is not Reach.STATIC]
        bounds = {call.plugin.name: call for call in self._predicate_rooms}
        return [bounds[name] for name in moving] if bounds.keys() >= set(moving) else None

    def may_fit(self, task_class: TaskClass, position: int) -> bool:
        """Whether some node has as much free as a task asks for of each resource, as of `position`; the most of them
        may be on different nodes. In a full cluster this spares a look at all nodes for each class that waits."""
        if self._most_free[0] != position:
            free = self._free(self.all_rows)
            # (column by column: fifteen times as fast as along the axis)
            self._most_free = (position, [int(free[:, dim].max(initial=0)) for dim in range(free.shape[1])])
        most, request = self._most_free[1], task_class.request.tolist()
        return all(request[dim] <= most[dim] for dim in task_class.requested.tolist())

    def _fit_of_all(self, task_class: TaskClass, position: int) -> Counts:
        """[N] the same for all nodes, as of `position`; the caller may write into it."""
        if not self.may_fit(task_class, position):
            return np.zeros(len(self.all_rows), dtype=np.int64)
        request = task_class.request.tobytes()
        if self._last_fit is None or self._last_fit[:2] != (position, request):
            self._last_fit = (position, request, self._fit(task_class, self.all_rows))
        return self._last_fit[2].copy()

    def _fit(self, task_class: TaskClass, rows: Rows) -> Counts:
        """[K] how many tasks fit into what is free and not promised to others."""
        return self._room(task_class, self._free(rows))

    def _free(self, rows: Rows) -> NDArray[np.int64]:
        """[K, R] what is free and not promised to others."""
        nodes = self._nodes
        of_all = rows is self.all_rows  # without `rows` no column is copied
        idle = nodes.allocatable - nodes.used if of_all else nodes.allocatable[rows] - nodes.used[rows]
        return np.minimum(idle, self._future_idle(rows)) if self.is_promised else idle

    def _future_idle(self, rows: Rows) -> NDArray[np.int64]:
        """[K, R] what will be free then."""
        # without `rows` no column is copied
        return self._nodes.future_idle() if rows is self.all_rows else self._nodes.future_idle(rows)

    @staticmethod
    def _room(task_class: TaskClass, free: NDArray[np.int64]) -> Counts:
        """[K] how many tasks fit into `free` [K, R]."""
        request = task_class.request
        room = np.full(len(free), np.iinfo(np.int64).max, dtype=np.int64)
        for dim in task_class.requested:
            np.minimum(room, free[:, dim] // request[dim], out=room)
        return np.maximum(room, 0, out=room)

    # -- scores ----------------------------------------------------------------------------------------------------

    def scores(self, state: ClassState, rows: Rows) -> tuple[Scores, Scores | None]:
        """[K] scores of nodes that are all feasible ones, without the domain score; and the batch scores in them."""
        own, batch = self.own_scores(state, rows), self.batch_scores(state, rows)
        return (own, None) if batch is None else (own + batch, batch)

    def own_scores(self, state: ClassState, rows: Rows) -> Scores:
        """[K] scores that follow from each node alone. They are worked out when a node that takes the class is sought
        for the first time: of the classes that wait, none may."""
        if state.scores is None:
            started = time.perf_counter()
            state.scores = self._score(state.task_class, NodeView(self._nodes, self.all_rows))
            self.stages.scoring.append(time.perf_counter() - started)
        return state.scores[rows]

    def total_scores(self, state: ClassState, rows: Rows, domain_score: DomainScore | None) -> Scores:
        """[K] scores of nodes that are all feasible ones."""
        scores, _ = self.scores(state, rows)
        return scores if domain_score is None else on_grid(scores) + domain_score.over(rows)

    def batch_scores(self, state: ClassState, rows: Rows) -> Scores | None:
        """[K] scores that depend on which nodes are feasible: `rows`. None when there are none."""
        total: Scores | None = None
        for call in self._batch_scores:
            scores = call(state.task_class, NodeView(self._nodes, rows))
            if scores is not None:
                total = scores if total is None else total + scores
        return total

    def domain_score(self, task_class: TaskClass) -> DomainScore | None:
        """The current domain score of the class; None when it has none."""
        return domain_score_of(self._domain_scores, task_class, NodeView(self._nodes, self.all_rows))

    def best_node(self, task_class: TaskClass, rows: Rows, scores: Scores) -> Rows | None:
        """The one of `rows` that a plugin names, [1]; None when none does."""
        for call in self._best:
            position = call(task_class, NodeView(self._nodes, rows), scores)
            if position is not None:
                return rows[position : position + 1]
        return None

    def ladder(self, task_class: TaskClass, rows: Rows, fixed: Scores | None, highest: int) -> Ladder:
        """Scores of the nodes after each of up to `highest` further tasks; `fixed` [K] is added to all of them."""
        return Ladder(partial(self._supposing, task_class), rows, fixed, highest)

    def _supposing(self, task_class: TaskClass, rows: Rows, placed: Counts) -> Scores:
        return self._score(task_class, NodeView(self._nodes, rows, task_class, placed))

    def _score(self, task_class: TaskClass, view: NodeView) -> Scores:
        total = np.zeros(len(view)) if self._home is None else self._home[view.rows]
        for call in self._scores:
            total += call(task_class, view)
        return total


def _at_home(snapshot: Snapshot) -> Scores | None:
    """[N] what is added to scores so that nodes of the own shard come first; None where none come first."""
    shard = snapshot.shard
    if shard is None or shard.sharding.is_hard:
        return None
    return np.array([_HOME * (info.name in shard.own) for info in snapshot.nodes])


def plugins_of(calls: Sequence[Call]) -> list[str]:
    return [call.plugin.name for call in calls]
