"""The search for units to evict for one job: greedy, bundle after bundle, until its gang has places.

What is free, or was freed before, is used before anything more goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.planning.blocked import make_way
from volcano_py.framework.eviction.planning.bundles import Bundle, Bundles, JobFacts, Stock, Wanted
from volcano_py.framework.eviction.planning.cost import victim_ranks
from volcano_py.framework.eviction.planning.draft import Draft, Eviction, Mark
from volcano_py.framework.eviction.planning.placing import place, place_on
from volcano_py.framework.eviction.scheme import NEVER, Scheme
from volcano_py.framework.eviction.units import Need, Unit, Verdict
from volcano_py.framework.job import Job, Task
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS
from volcano_py.framework.votes import Room
from volcano_py.state.table.ledger import Rows

Looks = tuple[tuple[int, int, bytes], ...]
"""Of each unit of a bundle its queue, the class of its pod (-1: a whole job), and what its job holds."""


class Level(NamedTuple):
    """How far evictions may go.

    Attributes:
        whole: jobs may go whole.
        last_resort: queues may be left with less than they deserve.
    """

    whole: bool
    last_resort: bool


_MOST_REORDERED: Final = 16
"""Units that are tried in another order, and how often that is done in a search."""
LEVELS: Final = (Level(False, False), Level(False, True), Level(True, False), Level(True, True))
"""In the order in which they are tried."""


class Search:
    """See the module. Works on a draft; made for one attempt of one job.

    Attributes:
        bundles: how many bundles were evicted.
        found_last_resorts: a unit was left out that only the last resort takes.
    """

    def __init__(
        self, ssn: Session, pool: Candidates, scheme: Scheme, job: Job, tasks: Rows, draft: Draft, level: Level
    ) -> None:
        self._ssn = ssn
        self._pool = pool
        self._scheme = scheme
        self._job = job
        self._tasks = tasks
        self._draft = draft
        self._level = level
        self._hopeless: set[tuple[int, str]] = set()
        """Class rows, with their preemption policy, that find no place at this level."""
        self._stays = np.zeros(ssn.ledger.tasks.size, dtype=np.bool_)
        """[T] pods that were refused as units of their own."""
        self._stays_whole = np.zeros(ssn.ledger.jobs.size, dtype=np.bool_)
        """[J] jobs that were refused as a whole."""
        self._for_later: tuple[Job, ...] = ()
        self._refusals = self._reordered = 0
        self._judges = {plugin.name for plugin in ssn.dispatch.plugins if plugin.judges_units}
        self._refused_looks: set[Looks] = set()
        """Bundles that were refused as things stand, by what they hold and of which queues."""
        self._is_refused_by_looks = False
        self.bundles = 0
        self.found_last_resorts = False

    def run(self) -> bool:
        """Place the tasks in the order given, while the job starves. Whether its gang has all places that it needs."""
        ask = self._ssn.ask
        while ask.job_starving(self._job) and (task := self._next()) is not None:
            if place(self._ssn, self._draft, task) or self._make_room(task) or self._bring_back():
                continue
            self._hopeless.add(self._kind(task))
        return ask.gang_will_be_ready(self._job)

    def without(self, evictions: Iterable[Eviction]) -> Search:
        """Another search for the same tasks, which leaves these units out."""
        other = Search(self._ssn, self._pool, self._scheme, self._job, self._tasks, self._draft, self._level)
        for unit in (each.unit for each in evictions):
            other._leave_out(Bundle(unit.rows, (unit.job.row,) if unit.is_whole else ()))
        return other

    def later(self, evictions: Iterable[Eviction]) -> Search:
        """Another search for the same tasks, which takes the jobs of these units only when it finds no others."""
        other = Search(self._ssn, self._pool, self._scheme, self._job, self._tasks, self._draft, self._level)
        other._for_later = tuple({each.unit.job.row: each.unit.job for each in evictions}.values())
        for job in other._for_later:
            other._stays[self._ssn.tasks_of(job)] = other._stays_whole[job.row] = True
        return other

    def _bring_back(self) -> bool:
        """Jobs that were for later may go from now on. Whether there were any."""
        jobs, self._for_later = self._for_later, ()
        for job in jobs:
            self._stays[self._ssn.tasks_of(job)] = self._stays_whole[job.row] = False
        return len(jobs) > 0

    # -- tasks -----------------------------------------------------------------------------------------------------

    def _next(self) -> Task | None:
        """The first task without a place that may still find one; none, if a queue could only be left with less than it
        deserves for what the job has beyond its minimum."""
        ssn = self._ssn
        if self._level.last_resort and ssn.ask.gang_will_be_ready(self._job):
            return None
        for row in self._unplaced().tolist():
            task = Task(row, self._job, ssn.task_class(row), int(ssn.ledger.tasks.priority[row]))
            if self._kind(task) not in self._hopeless:
                if ssn.ask.pre_predicate(task.task_class) is None:
                    return task
                self._hopeless.add(self._kind(task))
        return None

    def _unplaced(self) -> Rows:
        return self._tasks[~np.isin(self._tasks, self._draft.placed)]

    def _kind(self, task: Task) -> tuple[int, str]:
        return task.task_class.row, self._ssn.task_info(task.row).preemption_policy

    # -- room ------------------------------------------------------------------------------------------------------

    def _make_room(self, task: Task) -> bool:
        """Evict what makes room for the task, and place it."""
        ssn, scheme = self._ssn, self._scheme
        if self._kind(task)[1] == NEVER:
            return False
        if not scheme.may_take(task.job.queue, self._rest()):
            return False
        self._refused_looks.clear()  # something has gone or come since
        candidates = ssn.ask.possible_victims(scheme.point, task, scheme.candidates(task))
        if not len(candidates):
            return False
        room = ssn.ask.allocatable(task.job.queue, task.task_class)
        if room.count > 0:
            return self._free_a_node(task, candidates)
        if room.short is None:
            return False
        if len(ssn.placer.choose(task.task_class, 1).nodes):
            return self._lower_ceiling(task, candidates, room)
        below = np.isin(ssn.ledger.tasks.queue[candidates], ssn.ask.below_ceiling(room, task.job.queue))
        return self._free_a_node(task, candidates[below]) or self._free_a_node(task, candidates)

    def _free_a_node(self, task: Task, candidates: Rows) -> bool:
        """Evict the first bundle that the plugins give up and after which the task finds a place, or lacks only what a
        ceiling leaves short."""
        codes = self._ssn.placer.codes(task.task_class)
        node = self._ssn.ledger.tasks.node[candidates]
        is_open = codes[node] == FITS
        wanted = self._wanted(task)
        stock = self._stock(task, candidates[is_open])
        need = self._need(task, wanted)
        while len(stock):
            refused = self._refusals
            for bundle in Bundles(stock, wanted, self._facts(task.task_class.requested)):
                mark = self._draft.checkpoint()
                if self._take(bundle, need):
                    if place(self._ssn, self._draft, task) or self._is_below_ceiling(task):
                        self.bundles += 1
                        return True
                    self._leave_out(bundle)
                self._draft.rollback(mark)
            if self._refusals == refused:
                break  # without new refusals the bundles are the same
            stock = self._stock(task, candidates[is_open])
        blocked = candidates[~is_open & self._ssn.resolvable(codes[node])]
        return len(blocked) > 0 and self._clear_a_node(task, blocked, need)

    def _clear_a_node(self, task: Task, candidates: Rows, need: Need) -> bool:
        """Where a rule other than room refuses the task because of pods that are there."""
        ssn, draft = self._ssn, self._draft
        mark = draft.checkpoint()
        units = self._units_by_node(self._stock(task, candidates))
        node = make_way(ssn, draft, task, units, lambda unit: self._is_given(unit, need))
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
        ssn, draft = self._ssn, self._draft
        assert room.short is not None, "no pod stands in the way otherwise"
        dim, units = room.short
        tasks = ssn.ledger.tasks
        counts = np.isin(tasks.queue[candidates], ssn.ask.below_ceiling(room, task.job.queue))
        counts &= ssn.ledger.classes.request[tasks.task_class[candidates], dim] > 0
        dims = np.array([dim], dtype=np.intp)
        wanted = Wanted(np.array([units]), 1, np.zeros((1, 1), dtype=np.int64), np.ones(1))
        lacking = np.zeros(len(task.task_class.request), dtype=np.bool_)
        lacking[dim] = True
        need = Need(task, self._request_of_rest(), lacking)
        stock = self._stock(task, candidates[counts], dims).on_one_node()
        for bundle in Bundles(stock, wanted, self._facts(dims)):
            mark = draft.checkpoint()
            if self._take(bundle, need) and (
                place(ssn, draft, task) if node is None else place_on(ssn, draft, task, node)
            ):
                self.bundles += 1
                return True
            draft.rollback(mark)
        return False

    def _is_below_ceiling(self, task: Task) -> bool:
        """Whether a node has room, and only a ceiling is in the way that pods of others count for."""
        ssn = self._ssn
        room = ssn.ask.allocatable(task.job.queue, task.task_class)
        return room.count <= 0 and room.short is not None and len(ssn.placer.choose(task.task_class, 1).nodes) > 0

    # -- units -----------------------------------------------------------------------------------------------------

    def _take(self, bundle: Bundle, need: Need) -> bool:
        """Evict the units of the bundle, as long as each is given up. One that is refused before any other of them has
        gone is left out from now on."""
        looks = self._looks_of(bundle)
        if looks in self._refused_looks:
            return False
        units = sorted(self._units(bundle), key=lambda unit: self._size(unit, need))
        mark = self._draft.checkpoint()
        for number, unit in enumerate(units):
            if self._is_left_out(unit):
                return False
            if not self._is_given(unit, need):
                if self._is_refused_by_looks:
                    self._refused_looks.add(looks)
                if self._take_in_another_order(units, mark, need):
                    return True
                if number == 0:
                    self._leave_out(Bundle(unit.rows[:0], (unit.job.row,)) if unit.is_whole else Bundle(unit.rows, ()))
                return False
            self._draft.evict(unit, need.task)
        if self._pool.gangs.rules.all_surplus:
            self._take_all_surplus(bundle, need)
        return True

    def _take_all_surplus(self, bundle: Bundle, need: Need) -> None:
        """Jobs that gave a pod give all that they can spare."""
        candidates = self._scheme.candidates(need.task)
        jobs = self._ssn.ledger.tasks.job
        for row in candidates[np.isin(jobs[candidates], jobs[bundle.alone])].tolist():
            (unit,) = self._units(Bundle(np.array([row], dtype=np.intp), ()))
            if self._is_given(unit, need):
                self._draft.evict(unit, need.task)

    def _take_in_another_order(self, units: Sequence[Unit], mark: Mark, need: Need) -> bool:
        """Evict what has gone so far and these units from the smallest to the largest: a queue that holds little more
        than it deserves gives the largest only as the last."""
        draft = self._draft
        gone = mark.evictions
        if not gone or len(gone) + len(units) > _MOST_REORDERED or self._reordered == _MOST_REORDERED:
            return False
        self._reordered += 1
        draft.rollback(mark)
        for eviction in gone:
            draft.take_back(eviction.unit)
        claims = [(each.unit, each.task) for each in gone] + [(unit, need.task) for unit in units]
        for unit, task in sorted(claims, key=lambda claim: self._size(claim[0], need)):
            if not self._is_given(unit, need):
                draft.rollback(mark)
                return False
            draft.evict(unit, task)
        return True

    def _size(self, unit: Unit, need: Need) -> float:
        """What the unit holds of what is lacking, as a sum of parts of the cluster."""
        parts = unit.request[need.lacking] / np.maximum(self._ssn.total[need.lacking], 1)
        return float(parts.sum())

    def _units(self, bundle: Bundle) -> Iterator[Unit]:
        ssn = self._ssn
        for row in bundle.alone.tolist():
            owner = ssn.job(int(ssn.ledger.tasks.job[row]))
            assert owner is not None, "candidates have a PodGroup and a queue"
            yield Unit.alone(owner, row, ssn.task_class(row).request)
        for job_row in bundle.whole:
            owner = ssn.job(job_row)
            assert owner is not None, "candidates have a PodGroup and a queue"
            yield self._pool.gangs.whole(owner)

    def _units_by_node(self, stock: Stock) -> Iterator[tuple[int, Unit]]:
        """Each unit that has pods on a node, with the node."""
        whole: set[tuple[int, int]] = set()
        for at in range(len(stock)):
            node, job_row = int(stock.node[at]), int(stock.job[at])
            if stock.spare[at]:
                yield node, next(self._units(Bundle(stock.rows[at : at + 1], ())))
            elif stock.whole[at] and (node, job_row) not in whole:
                whole.add((node, job_row))
                yield node, next(self._units(Bundle(stock.rows[:0], (job_row,))))

    def _is_given(self, unit: Unit, need: Need) -> bool:
        """Whether the unit may go now."""
        self._is_refused_by_looks = False
        if not unit.is_whole and not self._pool.gangs.can_spare(int(unit.rows[0])):
            return False
        verdict, refused_by = self._ssn.ask.gives(self._scheme.point, need, unit)
        self._is_refused_by_looks = verdict is Verdict.LAST_RESORT or refused_by in self._judges
        self.found_last_resorts |= verdict is Verdict.LAST_RESORT
        return verdict is Verdict.YES or (verdict is Verdict.LAST_RESORT and self._level.last_resort)

    def _looks_of(self, bundle: Bundle) -> Looks:
        """What plugins that divide the cluster among queues go by: equal bundles get equal verdicts from them."""
        tasks, jobs = self._ssn.ledger.tasks, self._ssn.ledger.jobs
        columns = (tasks.queue[bundle.alone], tasks.task_class[bundle.alone], tasks.job[bundle.alone])
        alone = [
            (queue, task_class, jobs.allocated[job].tobytes())
            for queue, task_class, job in zip(*(column.tolist() for column in columns), strict=True)
        ]
        whole = [(int(jobs.queue[job]), -1, jobs.allocated[job].tobytes()) for job in bundle.whole]
        return tuple(sorted(alone + whole))

    def _is_left_out(self, unit: Unit) -> bool:
        return bool(self._stays_whole[unit.job.row] if unit.is_whole else self._stays[unit.rows[0]])

    def _leave_out(self, bundle: Bundle) -> None:
        """Its units are not tried again."""
        self._refusals += 1
        self._stays[bundle.alone] = True
        self._stays_whole[list(bundle.whole)] = True

    # -- columns ---------------------------------------------------------------------------------------------------

    def _stock(self, task: Task, candidates: Rows, dims: Rows | None = None) -> Stock:
        ssn, gangs = self._ssn, self._pool.gangs
        tasks = ssn.ledger.tasks
        job = tasks.job[candidates].astype(np.intp)
        spares = gangs.surplus()[job]
        spare = (spares > 0) & (gangs.surplus_of_roles(candidates) > 0) & ~self._stays[candidates]
        whole = np.zeros(len(candidates), dtype=np.bool_)
        if self._level.whole and self._scheme.takes_whole:
            whole = (gangs.may_go_whole() & ~self._stays_whole)[job]
            if self._scheme.point == "preemptable" and not ssn.ask.preempts_equals:
                whole &= ssn.ledger.jobs.priority[job] < task.job.priority
        if self._scheme.only_lesser:
            lesser = ssn.ledger.jobs.priority[job] < task.job.priority
            spare, whole = spare & lesser, whole & lesser
        keep = np.flatnonzero(spare | whole)
        candidates, job = candidates[keep], job[keep]
        dims = task.task_class.requested if dims is None else dims
        request = ssn.ledger.classes.request[:, dims].take(tasks.task_class[candidates], axis=0)
        return Stock(
            rows=candidates,
            node=tasks.node[candidates].astype(np.intp),
            job=job,
            rank=victim_ranks(ssn, task, candidates),
            request=request,
            spare=spare[keep],
            spares=spares[keep],
            whole=whole[keep],
            turn=self._pool.turn[candidates],
        )

    def _wanted(self, task: Task) -> Wanted:
        ssn, dims = self._ssn, task.task_class.requested
        idle = ssn.ledger.nodes.future_idle()[:, dims]
        classes = ssn.ledger.tasks.task_class[self._unplaced()]
        alike = int(np.count_nonzero(classes == task.task_class.row))
        count = max(1, min(alike, ssn.ask.tasks_to_ready(task.job) - task.job.waiting))
        return Wanted(task.task_class.request[dims], count, idle, 1 / np.maximum(ssn.total[dims], 1))

    def _need(self, task: Task, wanted: Wanted) -> Need:
        """What there is too little of: each resource by itself, or all of them if each alone would do."""
        dims = task.task_class.requested
        lacking = np.zeros(len(task.task_class.request), dtype=np.bool_)
        room = np.maximum(wanted.idle // wanted.request, 0).sum(axis=0)
        short = room < wanted.count
        lacking[dims] = short if short.any() else True
        return Need(task, self._request_of_rest(), lacking)

    def _rest(self) -> Rows:
        """The tasks that the gang still lacks."""
        lacking = max(1, self._ssn.ask.tasks_to_ready(self._job) - self._job.waiting)
        return self._unplaced()[:lacking]

    def _request_of_rest(self) -> NDArray[np.int64]:
        """[R] what these request together."""
        classes = self._ssn.ledger.tasks.task_class[self._rest()]
        request: NDArray[np.int64] = self._ssn.ledger.classes.request[classes].sum(axis=0)
        return request

    def _facts(self, dims: Rows) -> JobFacts:
        jobs = self._ssn.ledger.jobs
        return JobFacts(jobs.priority, self._pool.gangs.are_complete(), jobs.allocated[:, dims])
