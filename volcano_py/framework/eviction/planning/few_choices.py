"""The best choice of units where there are few: the cheapest that makes room, and that the plugins give up.

The search is greedy: a unit that is worse by itself may be better with others. Where the candidates allow some thousand
choices at most, all are compared (choices.py). Of more, those of the jobs that a plan takes already, and of the first
victims. Plugins, and the rules other than room, are asked about the cheapest ones, a bounded number of times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from volcano_py.framework.eviction.planning.attempt import Attempt
from volcano_py.framework.eviction.planning.bundles import Bundle, Flags, Stock
from volcano_py.framework.eviction.planning.choices import MOST_CHOICES, Atoms, Choices, Key, choices_of
from volcano_py.framework.eviction.planning.columns import Columns, Stays
from volcano_py.framework.eviction.planning.cost import Cost, Costs
from volcano_py.framework.eviction.planning.draft import Eviction
from volcano_py.framework.eviction.planning.placing import place
from volcano_py.framework.eviction.planning.search import Search
from volcano_py.framework.eviction.planning.taking import Taking
from volcano_py.framework.eviction.scheme import NEVER
from volcano_py.framework.job import Task
from volcano_py.framework.views import FITS
from volcano_py.state.table.across import least_of
from volcano_py.state.table.table import Rows

_MOST_PODS: Final = 256
"""Of more candidates, those of the jobs that lose pods first are looked at."""
_SOME_CHOICES: Final = 1024
"""How many are then compared: their pods may be on as many nodes."""
_MOST_ASKED: Final = 16
"""Choices that plugins are asked about for one job; each costs some milliseconds."""
_MOST_ASKED_IN_ALL: Final = 64
"""The same for all jobs of one run of an action: many may wait for which nothing can go."""
_PRICE_OF_SOME: Final = 32
"""Looking at some of many choices counts for as many that are asked about: it takes a twentieth of a second."""


def search_few_choices(attempt: Attempt) -> tuple[Search | None, bool]:
    """Draft a plan that begins with the best choice for what the gang lacks. The search that went on with it, and
    whether more may go as a last resort."""
    attempt.draft.reset()
    if _has_asked_enough(attempt):
        return None, False
    few = FewChoices(attempt, [attempt.task(row) for row in attempt.rest().tolist()])
    if not few.find():
        return None, few.found_last_resorts
    search = Search(attempt)
    is_complete = search.run()
    return (search if is_complete else None), few.found_last_resorts or search.found_last_resorts


def improve_among_few(attempt: Attempt) -> bool:
    """Replace the plan by the best one for the same tasks. Whether all were compared."""
    if _has_asked_enough(attempt):
        return False
    draft = attempt.draft
    evictions, places = draft.evictions.copy(), draft.places.copy()
    draft.reset()
    few = FewChoices(attempt, [each.task for each in places])
    if not few.find(better_than=evictions):
        draft.repeat(evictions, places)
    return few.are_few


class FewChoices:
    """See the module. Made while the draft is empty.

    Attributes:
        are_few: all choices were compared.
        found_last_resorts: a unit was refused that may go as a last resort.
    """

    def __init__(self, attempt: Attempt, tasks: Sequence[Task]) -> None:
        """`tasks`: those that need places."""
        self._attempt = attempt
        self._tasks = tasks
        self._columns = Columns(attempt)
        self._nodes: Rows = np.zeros(0, dtype=np.intp)
        """On which atoms free something."""
        self._dims: Rows = self._nodes
        """The resources that the tasks ask for."""
        self.are_few = self.found_last_resorts = False

    def find(self, better_than: Sequence[Eviction] = ()) -> bool:
        """Draft the cheapest choice, if it costs less than these evictions. Whether there is one; otherwise the draft
        is empty."""
        draft, found, pool = self._attempt.draft, None, self._attempt.pool
        jobs = {each.unit.job.row for each in better_than}
        atoms = self._atoms(np.array(sorted(jobs), dtype=np.intp))
        if atoms is None:
            self.are_few = False
            return False
        costs = Costs(self._attempt.ssn, pool, self._tasks[0])
        best = costs.of(better_than) if better_than else None
        choices = Choices(*atoms, surplus_first=pool.gangs.rules.surplus_first)
        for asked, (chosen, key) in enumerate(choices):
            if asked == _MOST_ASKED or (best is not None and not _may_cost_less(key, best)):
                break
            pool.choices_asked += 1
            refused = self._draft(atoms[0], chosen)
            if refused is not None:
                choices.leave_out(refused)
            elif len(draft.places) == len(self._tasks):
                cost = costs.of(draft.evictions)
                if best is None or cost < best:
                    best, found = cost, (draft.evictions.copy(), draft.places.copy())
            draft.reset()
        if found is not None:
            draft.repeat(*found)
        return found is not None

    # -- what there is ---------------------------------------------------------------------------------------------

    def _atoms(self, first_jobs: Rows) -> tuple[Atoms, Flags] | None:
        """What may go, and all sets of it [C, A] that free room enough, or those of some jobs, `first_jobs` among them;
        None if there are none."""
        ssn, scheme, job = self._attempt.ssn, self._attempt.scheme, self._attempt.job
        first, rows = self._tasks[0], np.array([task.row for task in self._tasks], dtype=np.intp)
        if scheme.among_deadlocked or not scheme.may_take(job.queue, rows):
            return None
        if any(ssn.task_info(row).preemption_policy == NEVER for row in rows.tolist()):
            return None
        candidates = self._some(scheme.candidates(first), first_jobs)
        self._dims = np.unique(np.concatenate([task.task_class.requested for task in self._tasks]))
        none = np.zeros(ssn.ledger.tasks.size, dtype=np.bool_), np.zeros(ssn.ledger.jobs.size, dtype=np.bool_)
        stock = self._columns.stock(first, candidates, Stays(*none), self._dims)
        if not len(stock) or not len(self._dims) or self._columns.sub_groups:
            return None
        found = choices_of(stock, first_jobs, MOST_CHOICES if self.are_few else _SOME_CHOICES)
        self.are_few &= found.are_all
        if not self.are_few:
            self._attempt.pool.choices_asked += _PRICE_OF_SOME
        atoms = self._columns_of(stock, found.at, found.whole)
        enough = self._are_enough(atoms, found.chosen)
        return None if enough[0] or not enough.any() else (atoms, found.chosen[enough])

    def _some(self, candidates: Rows, first_jobs: Rows) -> Rows:
        """Those of the jobs that lose pods first, and of `first_jobs`, if there are many."""
        self.are_few = len(candidates) <= _MOST_PODS
        if self.are_few:
            return candidates
        job, turn = self._attempt.ssn.ledger.tasks.job[candidates], self._attempt.pool.turn[candidates]
        first = np.argpartition(turn, _MOST_PODS)[:_MOST_PODS]
        return candidates[np.isin(job, np.concatenate((job[first], first_jobs)))]

    def _columns_of(self, stock: Stock, at: Rows, is_whole: Flags) -> Atoms:
        ssn, facts = self._attempt.ssn, self._columns.facts(self._dims)
        self._nodes, node = np.unique(stock.node, return_inverse=True)
        freed = np.zeros((len(at), len(self._nodes), len(self._dims)), dtype=np.int64)
        for atom, position in enumerate(at.tolist()):
            mine = np.flatnonzero(stock.job == stock.job[position]) if is_whole[atom] else [position]
            np.add.at(freed[atom], node[mine], stock.request[mine])
        requests = ssn.ledger.classes.request[ssn.ledger.tasks.task_class[stock.rows[at]]]
        requests = np.where(is_whole[:, None], ssn.ledger.jobs.allocated[stock.job[at]], requests)
        return Atoms(
            row=stock.rows[at],
            job=stock.job[at],
            whole=is_whole,
            complete=is_whole & facts.complete[stock.job[at]],
            rank=stock.rank[at],
            priority=facts.priority[stock.job[at]],
            size=requests @ (1 / np.maximum(ssn.total, 1)),
            turn=stock.turn[at],
            freed=freed,
        )

    def _are_enough(self, atoms: Atoms, chosen: Flags) -> Flags:
        """[C] choices after which the nodes have room for the tasks of each class, looked at by itself."""
        ssn, enough = self._attempt.ssn, np.ones(len(chosen), dtype=np.bool_)
        classes = {task.task_class.row: task for task in self._tasks if len(task.task_class.requested)}
        counts = Counter(task.task_class.row for task in self._tasks)
        freed = np.tensordot(chosen.astype(np.int64), atoms.freed, axes=1)
        idle = ssn.ledger.nodes.future_idle()
        for row, task in classes.items():
            dims, request = task.task_class.requested, task.task_class.request
            may_take = ssn.placer.codes(task.task_class) == FITS
            may_take &= ssn.topology.may_use(task.job, task.row, np.arange(len(idle)))
            places = np.where(may_take, np.maximum(least_of(idle[:, dims] // request[dims]), 0), 0)
            left = idle[self._nodes][:, dims] + freed[:, :, np.isin(self._dims, dims)]
            more = np.maximum((left // request[dims]).min(axis=2), 0) * may_take[self._nodes]
            enough &= places.sum() - places[self._nodes].sum() + more.sum(axis=1) >= counts[row]
        return enough

    # -- one choice ------------------------------------------------------------------------------------------------

    def _draft(self, atoms: Atoms, chosen: Rows) -> Rows | None:
        """Evict what was chosen, that of one node for each task that finds no place, and place the tasks as far as
        possible. What the plugins do not give up together, if they refuse."""
        ssn, draft = self._attempt.ssn, self._attempt.draft
        taking, left = Taking(self._attempt, self._columns), chosen
        for task in self._tasks:
            if place(ssn, draft, task):
                continue
            now = self._on_a_node(atoms, left, task)
            left = left[~np.isin(left, now)]
            if not taking.take(_bundle(atoms, now), self._columns.need(task, self._columns.wanted(task))):
                self.found_last_resorts |= taking.found_last_resorts
                return chosen[~np.isin(chosen, left)]
            if not place(ssn, draft, task):
                break
        return None

    def _on_a_node(self, atoms: Atoms, left: Rows, task: Task) -> Rows:
        """Those of the atoms that make room for the task on one node, by size and turn; all of them if no node would
        have room. No more than that: plugins that compare shares are asked for one task after the other."""
        dims = task.task_class.requested
        left = left[np.lexsort((atoms.turn[left], atoms.size[left]))]
        idle = self._attempt.ssn.ledger.nodes.future_idle()[self._nodes][:, dims]
        found = []
        for node in range(len(self._nodes)):
            freed = atoms.freed[left, node][:, np.isin(self._dims, dims)]
            here = np.flatnonzero(freed.any(axis=1))
            fits = (idle[node] + freed[here].cumsum(axis=0) >= task.task_class.request[dims]).all(axis=1)
            if fits.any():
                found.append(left[here[: int(fits.argmax()) + 1]])
        return min(found, key=lambda each: (float(atoms.size[each].sum()), atoms.turn[each].tolist()), default=left)


def _has_asked_enough(attempt: Attempt) -> bool:
    """Whether this run of the action compares no more choices."""
    return attempt.pool.choices_asked >= _MOST_ASKED_IN_ALL


def _bundle(atoms: Atoms, chosen: Rows) -> Bundle:
    is_whole = atoms.whole[chosen]
    return Bundle(atoms.row[chosen[~is_whole]], tuple(atoms.job[chosen[is_whole]].tolist()))


def _may_cost_less(key: Key, best: Cost) -> bool:
    """Whether a choice with that key may be better: more queues than one may be left with less than they deserve."""
    whole, *rest = key
    return (bool(whole), min(best.below, 1), *rest) < best
