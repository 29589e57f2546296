"""The search for units to evict for one job: greedy, bundle after bundle, until its gang has places.

What is free, or was freed before, is used before anything more goes.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from volcano_py.framework.eviction.planning.attempt import Attempt
from volcano_py.framework.eviction.planning.blocked import make_way
from volcano_py.framework.eviction.planning.bundles import Bundle, Bundles, Wanted
from volcano_py.framework.eviction.planning.columns import Columns
from volcano_py.framework.eviction.planning.draft import Eviction
from volcano_py.framework.eviction.planning.placing import place, place_on
from volcano_py.framework.eviction.planning.taking import MOST_REORDERED, Taking
from volcano_py.framework.eviction.scheme import NEVER
from volcano_py.framework.eviction.units import Need
from volcano_py.framework.job import Task
from volcano_py.framework.views import FITS
from volcano_py.framework.votes import Room
from volcano_py.state.status import PLACED_STATUSES
from volcano_py.state.table.table import Rows


class Search:
    """See the module.

    Attributes:
        bundles: how many bundles were evicted.
        found_candidates: whether there were pods that come into question for a task, whatever the level.
    """

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._columns = Columns(attempt)
        self._taking = Taking(attempt, self._columns)
        self._hopeless: set[tuple[int, str]] = set()
        """Class rows, with their preemption policy, that find no place at this level."""
        self._at_first: Rows = np.zeros(0, dtype=np.intp)
        """The pods that might have gone before anything had."""
        self.bundles = 0
        self.found_candidates = False

    @property
    def found_last_resorts(self) -> bool:
        """Whether a unit was left out that only the last resort takes."""
        return self._taking.found_last_resorts

    def run(self) -> bool:
        """Place the tasks in the order given, while the job starves. Whether its gang has all places that it needs."""
        ssn, draft, job = self._attempt.ssn, self._attempt.draft, self._attempt.job
        all_placed = draft.checkpoint()
        while self._wants_more() and (task := self._next()) is not None:
            if place(ssn, draft, task) or self._make_room(task):
                if len(draft.places) > len(all_placed.places):
                    all_placed = draft.checkpoint()
            elif not self._taking.bring_back():
                draft.rollback(all_placed)  # what went below a ceiling for this task goes for nothing
                self._hopeless.add(self._kind(task))
        draft.drop_places(self._incomplete())
        return ssn.ask.gang_will_be_ready(job)

    def _wants_more(self) -> bool:
        """Whether the job starves, or a sub-group that was begun is not complete."""
        return self._attempt.ssn.ask.job_starving(self._attempt.job) or len(self._incomplete()) > 0

    def _incomplete(self) -> Rows:
        """Tasks with a place in the draft whose sub-group is not complete with it: it would hold places for nothing."""
        ssn, placed = self._attempt.ssn, self._attempt.draft.placed
        groups = ssn.sub_groups(self._attempt.job)
        if groups is None or not len(placed):
            return placed[:0]
        is_short = np.append(ssn.in_sub_groups(self._attempt.job, PLACED_STATUSES) < groups.size, False)
        rows: Rows = placed[is_short[groups.group[np.searchsorted(groups.rows, placed)]]]
        return rows

    def without(self, evictions: Iterable[Eviction]) -> Search:
        """Another search for the same tasks, which leaves these units out."""
        other = Search(self._attempt)
        for unit in (each.unit for each in evictions):
            other._taking.leave_out(Bundle(unit.rows, (unit.job.row,) if unit.is_whole else ()))
        return other

    def later(self, evictions: Iterable[Eviction]) -> Search:
        """Another search for the same tasks, which takes the jobs of these units only when it finds no others."""
        other = Search(self._attempt)
        other._taking.put_off(evictions)
        return other

    # -- tasks -----------------------------------------------------------------------------------------------------

    def _next(self) -> Task | None:
        """The first task without a place that may still find one; none, if a queue could only be left with less than it
        deserves for what the job has beyond its minimum."""
        ssn = self._attempt.ssn
        if self._attempt.level.last_resort and ssn.ask.gang_will_be_ready(self._attempt.job):
            return None
        for row in self._attempt.unplaced().tolist():
            task = self._attempt.task(row)
            if self._kind(task) not in self._hopeless:
                if ssn.ask.pre_predicate(task.task_class) is None:
                    return task
                self._hopeless.add(self._kind(task))
        return None

    def _kind(self, task: Task) -> tuple[int, str]:
        return task.task_class.row, self._attempt.ssn.task_info(task.row).preemption_policy

    # -- room ------------------------------------------------------------------------------------------------------

    def _make_room(self, task: Task) -> bool:
        """Evict what makes room for the task, and place it."""
        ssn, scheme = self._attempt.ssn, self._attempt.scheme
        if self._kind(task)[1] == NEVER:
            return False
        if not scheme.may_take(task.job.queue, self._attempt.rest()):
            return False
        self._taking.begin()
        candidates = self._possible(task)
        if not len(candidates):
            return False
        self.found_candidates = True
        room = ssn.ask.allocatable(task.job.queue, task.task_class)
        if room.count > 0:
            return self._free_a_node(task, candidates)
        if room.short is None:
            return False
        if self._has_room(task):
            return self._lower_ceiling(task, candidates, room)
        below = np.isin(ssn.ledger.tasks.queue[candidates], ssn.ask.below_ceiling(room, task.job.queue))
        return self._free_a_node(task, candidates[below]) or self._free_a_node(task, candidates)

    def _possible(self, task: Task) -> Rows:
        """The pods that may go for the task. Where none may any more because a gang has gone, those that might have
        gone before it: they may in another order (`Taking`)."""
        ssn, scheme = self._attempt.ssn, self._attempt.scheme
        candidates = scheme.candidates(task)
        if scheme.among_deadlocked:
            return candidates
        possible = ssn.ask.possible_victims(scheme.point, task, candidates)
        gone = self._attempt.draft.evictions
        if not gone:
            self._at_first = possible
        if len(possible) or len(gone) > MOST_REORDERED or not any(each.unit.is_whole for each in gone):
            return possible
        return candidates[np.isin(candidates, self._at_first)]

    def _free_a_node(self, task: Task, candidates: Rows) -> bool:
        """Evict the first bundle that the plugins give up and after which the task finds a place, or lacks only what a
        ceiling leaves short."""
        codes = self._attempt.ssn.placer.codes(task.task_class)
        candidates = candidates[
            self._attempt.ssn.topology.may_use(task.job, task.row, self._attempt.ssn.ledger.tasks.node[candidates])
        ]
        node = self._attempt.ssn.ledger.tasks.node[candidates]
        is_open = codes[node] == FITS
        wanted = self._columns.wanted(task)
        stock = self._columns.stock(task, candidates[is_open], self._taking.stays)
        need = self._columns.need(task, wanted)
        while len(stock):
            refused = self._taking.refusals
            for bundle in Bundles(stock, wanted, self._columns.facts(task.task_class.requested)):
                mark = self._attempt.draft.checkpoint()
                if self._taking.take(bundle, need):
                    if place(self._attempt.ssn, self._attempt.draft, task) or self._is_below_ceiling(task):
                        self.bundles += 1
                        return True
                    self._taking.leave_out(bundle)
                self._attempt.draft.rollback(mark)
            if self._taking.refusals == refused:
                break  # without new refusals the bundles are the same
            stock = self._columns.stock(task, candidates[is_open], self._taking.stays)
        blocked = candidates[~is_open & self._attempt.ssn.resolvable(codes[node])]
        return len(blocked) > 0 and self._clear_a_node(task, blocked, need)

    def _clear_a_node(self, task: Task, candidates: Rows, need: Need) -> bool:
        """Where a rule other than room refuses the task because of pods that are there."""
        ssn, draft = self._attempt.ssn, self._attempt.draft
        mark = draft.checkpoint()
        units = self._taking.units_by_node(self._columns.stock(task, candidates, self._taking.stays))
        node = make_way(ssn, draft, task, units, lambda unit: self._taking.consent_to(unit, need))
        if node is not None:
            self.bundles += 1
            room = ssn.ask.allocatable(task.job.queue, task.task_class)
            if place_on(ssn, draft, task, node) or (
                room.short is not None and self._lower_ceiling(task, candidates, room, node)
            ):
                return True
        draft.rollback(mark)
        return False

    def _lower_ceiling(self, task: Task, candidates: Rows, room: Room, node: int | None = None) -> bool:
        """Evict pods that count for the ceiling that leaves no room, wherever they are, until the task can be placed:
        on the node, if one is given."""
        ssn, draft = self._attempt.ssn, self._attempt.draft
        assert room.short is not None, "no pod stands in the way otherwise"
        dim, units = room.short
        tasks = ssn.ledger.tasks
        counts = np.isin(tasks.queue[candidates], ssn.ask.below_ceiling(room, task.job.queue))
        counts &= ssn.ledger.classes.request[tasks.task_class[candidates], dim] > 0
        dims = np.array([dim], dtype=np.intp)
        wanted = Wanted(np.array([units]), 1, np.zeros((1, 1), dtype=np.int64), np.ones(1))
        lacking = np.zeros(len(task.task_class.request), dtype=np.bool_)
        lacking[dim] = True
        need = self._columns.need_of(task, lacking)
        stock = self._columns.stock(task, candidates[counts], self._taking.stays, dims).on_one_node()
        for bundle in Bundles(stock, wanted, self._columns.facts(dims)):
            mark = draft.checkpoint()
            if self._taking.take(bundle, need) and (
                place(ssn, draft, task) if node is None else place_on(ssn, draft, task, node)
            ):
                self.bundles += 1
                return True
            draft.rollback(mark)
        return False

    def _is_below_ceiling(self, task: Task) -> bool:
        """Whether a node has room, and only a ceiling is in the way that pods of others count for."""
        ssn = self._attempt.ssn
        room = ssn.ask.allocatable(task.job.queue, task.task_class)
        return room.count <= 0 and room.short is not None and self._has_room(task)

    def _has_room(self, task: Task) -> bool:
        """Whether a node that the job may use would take the task."""
        ssn = self._attempt.ssn
        return len(ssn.placer.choose(task.task_class, 1, ssn.topology.confinement(task.job, task.row)).nodes) > 0
