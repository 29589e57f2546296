"""The evaluations of classes of tasks over all nodes, kept up to date as nodes fill, and the choices made from them.

For a class the placer keeps, over all nodes, which may take it, how many more of it each has room for, and the score.
When a node is touched only its row is computed again, and while none is touched an answer is given once: ten
thousand jobs that fit nowhere cost little more than one. What plugins say is collected by evaluator.py; how many tasks
are placed at a time is decided in strategies.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.calls.dispatch import Dispatch
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.findings import Findings
from volcano_py.framework.job import FitError
from volcano_py.framework.placement.class_filters import DomainFilters
from volcano_py.framework.placement.class_state import Candidates, ClassState, distinct
from volcano_py.framework.placement.evaluator import Evaluator, StageSeconds
from volcano_py.framework.placement.fit import explain_misfit
from volcano_py.framework.placement.mixed.run import MixedRun
from volcano_py.framework.placement.strategies import Strategies
from volcano_py.framework.placement.sweep import best_first
from volcano_py.framework.plugin import GoesBy, Reach
from volcano_py.framework.topology.confinement import Confinement
from volcano_py.framework.views import FITS, Codes, Counts
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

# Past this share of touched nodes, evaluating a class again is cheaper than updating rows.
_REFRESH_ALL_ABOVE: Final = 0.25
# Classes times nodes whose evaluation is kept, at some 30 bytes each; beyond it the oldest class is dropped.
_MOST_KEPT: Final = 10_000_000
# Nodes that are asked about with the next choice after one was refused late.
_FEWEST_OTHERS: Final = 16
_NOTHING: Final = np.zeros(0, dtype=np.intp)


class Choice(msgspec.Struct, frozen=True):
    """Nodes for the next tasks of a class, in order; fewer than asked for when the next ones need another look."""

    nodes: Rows
    """[K] K may be 0: no node fits."""
    pipelined: bool = False
    """The nodes have room only once what is being released is free."""


class Placer:
    """See the module. `tie_rank` [N] decides among equal scores, the lower rank first."""

    def __init__(
        self, cluster: ClusterCopy, dispatch: Dispatch, findings: Findings, tie_rank: NDArray[np.int64]
    ) -> None:
        self._cluster = cluster
        self._findings = findings
        self._advisers = dispatch.calls("predicate_advice")
        self._size = cluster.ledger.nodes.size
        self._tie_rank = tie_rank
        self._evaluator = Evaluator(cluster, dispatch)
        self._strategies = Strategies(self._evaluator, tie_rank)
        self._mixed = MixedRun(self._evaluator, tie_rank)
        self._states: dict[int, ClassState] = {}
        self._log: list[int] = []
        """The nodes that were touched, in order."""

    @property
    def stages(self) -> StageSeconds:
        return self._evaluator.stages

    def touch(self, nodes: Rows, *, promised: bool = False) -> None:
        """The pods of these nodes have changed; `promised`: among other things, a task was promised room there."""
        self._log.extend(nodes.tolist())
        if promised:
            self._evaluator.promise()

    # -- choices ---------------------------------------------------------------------------------------------------

    def expect(self, classes: Sequence[TaskClass]) -> None:
        """Tasks of these classes will be placed next, one after the other; if not, nothing is lost but time."""
        self._mixed.expect(classes)

    @property
    def expects_nothing(self) -> bool:
        """Whether all tasks that were expected have come."""
        return self._mixed.is_over

    def choose(self, task_class: TaskClass, count: int, within: Confinement | None = None) -> Choice:
        """Nodes for up to `count` tasks of the class, in the order in which they would be placed one by one; `within`:
        of those that their job may use."""
        if within is not None:
            return self._choose_within(task_class, count, within)
        if (nodes := self._mixed.next(task_class, count, self._log)) is not None:
            return Choice(nodes)
        known = self._states.get(task_class.row)
        if known is not None and (planned := known.plan.next(count, self._log)) is not None:
            return Choice(planned)
        state = self._state(task_class)
        if state.full_at == len(self._log):
            return Choice(_NOTHING)
        ahead = max(count, state.plan.reach())
        nodes = self._accepted(
            state,
            lambda: self._candidates(state, state.room, state.filters),
            lambda candidates: self._strategies.of(candidates, ahead).nodes(candidates, ahead),
        )
        if nodes is None:
            return self._choose_future(state)
        return Choice(state.plan.begin(nodes, count, len(self._log)))

    def planned(self, task_class: TaskClass) -> Rows:
        """[K] the nodes that the next tasks of the class take one after the other, as far as that is planned: empty
        where each has to be chosen by itself. The caller says how many were `used`, before anything else is asked.

        Only for classes that no placement makes nodes refuse: for others, plugins are asked again after each task.
        """
        if not self.expects_nothing:
            return _NOTHING
        state = self._state(task_class)
        if state.predicate_reach is not Reach.STATIC or state.filters is not None:
            return _NOTHING
        choice = self.choose(task_class, 1)
        return _NOTHING if choice.pipelined or not len(choice.nodes) else state.plan.rest()

    def used(self, task_class: TaskClass, count: int) -> None:
        """Only the first `count` of the nodes that were `planned` for the class are taken."""
        self._states[task_class.row].plan.used(count)

    def _choose_within(self, task_class: TaskClass, count: int, within: Confinement) -> Choice:
        """No plan is kept: the next tasks of the class may be those of another job."""
        state = self._state(task_class)
        if state.full_at == len(self._log):
            return Choice(_NOTHING)
        nodes = self._accepted(
            state,
            lambda: self._candidates(state, state.room, state.filters, within),
            lambda candidates: self._strategies.of(candidates, count).nodes(candidates, count),
        )
        return self._choose_future(state, within) if nodes is None else Choice(nodes)

    def _choose_future(self, state: ClassState, within: Confinement | None = None) -> Choice:
        """A node that will have room once terminating pods are gone and promised places are taken."""
        nodes = None
        if self._evaluator.will_change:

            def offered() -> Candidates | None:
                room = self._evaluator.room_then(state, self._evaluator.all_rows)
                return self._candidates(state, room, self._evaluator.filters_then(state), within)

            one_by_one = self._strategies.one_by_one
            nodes = self._accepted(state, offered, lambda candidates: one_by_one.nodes(candidates, 1))
        if nodes is None:
            if within is None:
                state.found_full(len(self._log))
            return Choice(_NOTHING)
        return Choice(nodes, pipelined=True)

    def _accepted(
        self, state: ClassState, offered: Callable[[], Candidates | None], choose: Callable[[Candidates], Rows]
    ) -> Rows | None:
        """The chosen ones of the nodes that are offered, none of which is refused late; None when none is left. After
        each refusal the choice is made again, and more of the best nodes are asked about at a time."""
        most_others, fewest = 0, self._size + 1
        while (candidates := offered()) is not None and len(candidates.open) < fewest:
            fewest = len(candidates.open)  # with each refusal there are fewer, unless a plugin forgets its own
            nodes = choose(candidates)
            if not self._evaluator.asks_late:
                return nodes
            if self._evaluator.accepts(state, nodes, self._best_of(candidates, most_others)):
                return nodes
            most_others = max(2 * most_others, _FEWEST_OTHERS)
        return None

    def _best_of(self, candidates: Candidates, most: int) -> Rows:
        """The nodes with the best scores of their own, in no order."""
        if not most:
            return _NOTHING
        rows = candidates.open
        return rows[best_first(self._evaluator.own_scores(candidates.state, rows), self._tie_rank[rows], most)]

    def _accepts(self, task_class: TaskClass, rows: Rows) -> bool:
        """Whether the nodes are not refused late."""
        return not self._evaluator.asks_late or self._evaluator.accepts(self._state(task_class), rows, _NOTHING)

    def _candidates(
        self, state: ClassState, room: Counts, filters: DomainFilters | None, within: Confinement | None = None
    ) -> Candidates | None:
        """The nodes with room that the job may use, None when the filters leave none open."""
        if within is not None:
            room = np.where(within.nodes, room, 0)
        rows = np.flatnonzero(room if filters is None else filters.open_room(room))
        if not len(rows):
            return None
        domain_score = self._evaluator.domain_score(state.task_class)
        if within is not None:
            domain_score = within.with_pull(domain_score)
        return Candidates(state, room, filters, rows, domain_score)

    def choose_on(self, task_class: TaskClass, node: int, within: Confinement | None = None) -> Choice:
        """The one node given (nominated earlier), if it fits and the job may use it."""
        if within is not None and not within.nodes[node]:
            return Choice(_NOTHING)
        state = self._state(task_class)
        rows = np.array([node], dtype=np.intp)
        if state.open_room()[node] > 0:
            return Choice(rows if self._accepts(task_class, rows) else _NOTHING)
        filters = self._evaluator.filters_then(state)
        if filters is not None and filters.codes[node] != FITS:
            return Choice(_NOTHING)
        if self._evaluator.room_then(state, rows)[0] > 0 and self._accepts(task_class, rows):
            return Choice(rows, pipelined=True)
        return Choice(_NOTHING)

    # -- answers ---------------------------------------------------------------------------------------------------

    def codes(self, task_class: TaskClass) -> Codes:
        """[N] the first refusal of each node, regardless of its room."""
        return self._state(task_class).refusals()

    def feasible(self, task_class: TaskClass, within: Confinement | None = None) -> Rows:
        """[K] the nodes that would take a task of the class now, of those that its job may use."""
        room = self._state(task_class).open_room()
        return np.flatnonzero(room if within is None else np.where(within.nodes, room, 0))

    def room(self, task_class: TaskClass, *, later: bool = False) -> Counts:
        """[N] how many tasks of the class each node has room for, or (`later`) will have once terminating pods are gone
        and promised places are taken. Domain filters are left out: they may open on the way."""
        state = self._state(task_class)
        return self._evaluator.room_then(state, self._evaluator.all_rows) if later else state.room

    def most(self, task_class: TaskClass, *, later: bool = False) -> Counts:
        """[N] how many tasks of the class there is room for at most, whatever is placed: as `room`, but for classes
        that may find nodes open on the way, by what they request alone."""
        if not self.may_open(task_class):
            return self.room(task_class, later=later)
        return self._evaluator.fit_then(task_class) if later else self._state(task_class).fit

    @property
    def will_change(self) -> bool:
        """Whether any node will have other room than now."""
        return self._evaluator.will_change

    def may_open(self, task_class: TaskClass) -> bool:
        """Whether a pod that is placed anywhere may make nodes take the class that refuse it now."""
        return self._state(task_class).predicate_reach is Reach.DOMAIN

    def is_refused_for_good(self, task_class: TaskClass) -> bool:
        """Whether the nodes that refuse the class, regardless of their room, do so whatever is placed or leaves."""
        state = self._state(task_class)
        is_fixed = state.predicate_reach is Reach.STATIC and state.filters is None
        return is_fixed and not self._cluster.transient(state.codes).any()

    def goes_by(self, task_class: TaskClass) -> GoesBy:
        """What changes what nodes say to the class, regardless of their room."""
        return self._evaluator.goes_by(task_class)

    def is_refused_for_now(self, task_class: TaskClass) -> bool:
        """Whether the nodes that refuse the class, regardless of their room, still do once terminating pods are gone,
        and the others do not."""
        then = self._evaluator.codes(task_class, self._evaluator.all_rows, released=True)
        filters = self._evaluator.filters(task_class, released=True)
        takes_then = (then if filters is None else filters.refuse(then)) == FITS
        return bool(((self.codes(task_class) == FITS) == takes_then).all())

    def may_take(self, task_class: TaskClass, node: int) -> bool:
        """Whether the node will take the class, regardless of its room, once terminating pods are gone."""
        rows = np.array([node], dtype=np.intp)
        if self._evaluator.codes(task_class, rows, released=True)[0] != FITS:
            return False
        filters = self._evaluator.filters(task_class, released=True)
        is_open = filters is None or bool(filters.codes[node] == FITS)
        return is_open and (not self._evaluator.asks_late or self._evaluator.late_codes(task_class, rows)[0] == FITS)

    def ranked(self, task_class: TaskClass, rows: Rows) -> Rows:
        """The nodes `rows` by score, best first, regardless of their room."""
        if len(rows) <= 1:
            return rows
        domain_score = self._evaluator.domain_score(task_class)
        scores = self._evaluator.total_scores(self._state(task_class), rows, domain_score)
        return rows[np.lexsort((self._tie_rank[rows], -scores))]

    def misfit(self, task_class: TaskClass) -> FitError:
        """Why no node takes the class, with the number of nodes per reason."""
        state = self._state(task_class)
        if state.misfit is None or state.misfit[0] != len(self._log):
            cluster, keepers = self._cluster, self._findings.keepers
            error = explain_misfit(cluster, self._advisers, task_class, state.refusals(), keepers)
            state.misfit = (len(self._log), error)
        return state.misfit[1]

    # -- the kept evaluations --------------------------------------------------------------------------------------

    def _state(self, task_class: TaskClass) -> ClassState:
        """The evaluation of the class as of now."""
        state, position = self._states.get(task_class.row), len(self._log)
        if state is None:
            if len(self._states) * self._size >= _MOST_KEPT:
                del self._states[next(iter(self._states))]
            state = self._states[task_class.row] = self._evaluator.evaluate(task_class, position)
            return state
        dirty = self._log[state.position :]
        if not dirty:
            return state
        if len(dirty) > _REFRESH_ALL_ABOVE * self._size:
            state.replace_by(self._evaluator.evaluate(task_class, position))
        else:
            self._evaluator.refresh(state, distinct(dirty, self._size), position)
        return state
