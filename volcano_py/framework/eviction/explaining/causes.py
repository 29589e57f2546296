"""Why preempt or reclaim evict nothing for a job: the one cause, with numbers."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from volcano_py.api.wording import explain_evictions as wording
from volcano_py.api.wording.explain_evictions import Claim, Standing
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.deadlocks import Deadlocks
from volcano_py.framework.eviction.explaining.protections import Protections
from volcano_py.framework.eviction.explaining.standings import Standings, asked_dims, first_beyond, holders
from volcano_py.framework.eviction.planning.attempt import lacking
from volcano_py.framework.eviction.scheme import NEVER, Scheme
from volcano_py.framework.job import Job, Task
from volcano_py.framework.session import Session
from volcano_py.framework.status.queue_reports import standing
from volcano_py.state.status import EVICTABLE_STATUSES
from volcano_py.state.table.table import Rows

_MOST_EXPLAINED: Final = 64
"""Kinds of jobs whose cause is worked out in one action; each takes a look at all pods."""


class Cause(msgspec.Struct, frozen=True):
    """Why nothing is evicted; `has_victims`: there are pods that would go if something did not keep them."""

    why: str
    has_victims: bool


class Causes:
    """Explains jobs for which an action found nothing; made for one run of the action."""

    def __init__(self, ssn: Session, pool: Candidates, scheme: Scheme, deadlocks: Deadlocks) -> None:
        self._ssn = ssn
        self._pool = pool
        self._scheme = scheme
        self._deadlocks = deadlocks
        self._known: dict[tuple[int, int, int, str, int], Cause] = {}

    def note(self, job: Job, rows: Rows) -> None:
        """Record why nothing was evicted for the job, whose tasks `rows` have no places."""
        rows = lacking(self._ssn, job, rows)
        ssn, row = self._ssn, int(rows[0])
        policy, task_class = ssn.task_info(row).preemption_policy, ssn.task_class(row)
        task = Task(row, job, task_class, int(ssn.ledger.tasks.priority[row]))
        cause = self._deadlock(task)
        if cause is None:
            key = (job.queue.slot, job.priority, task_class.row, policy, len(rows))
            if key not in self._known:
                if len(self._known) == _MOST_EXPLAINED:
                    ssn.findings.leave_unexplained(job)
                    return
                self._known[key] = self._why(task, rows, policy)
            cause = self._known[key]
        ssn.findings.explain_no_evictions(job, cause.why, has_victims=cause.has_victims)

    def _why(self, task: Task, rows: Rows, policy: str) -> Cause:
        action = self._scheme.action
        if policy == NEVER:
            return Cause(wording.never(action), has_victims=False)
        if self._scheme.point == "reclaimable":
            return self._why_no_reclaim(task, rows)
        return self._why_no_preempt(task, rows)

    def _deadlock(self, task: Task) -> Cause | None:
        """Why a gang that is deadlocked with the job keeps its places; None when there is none, or a ceiling would
        leave the job no room without it either."""
        rivals = self._deadlocks.rivals(task)
        if not rivals or self._is_at_a_ceiling(task, rivals[-1]):
            return None
        last, tasks = rivals[-1], self._ssn.ledger.tasks
        comes_first = self._deadlocks.order(last) < self._deadlocks.order(task.job)
        held = np.flatnonzero((tasks.job == last.row) & EVICTABLE_STATUSES[tasks.status])
        gang, action = wording.Gang(last.key, last.ready, last.min_member), self._scheme.action
        if comes_first:
            return Cause(wording.deadlocked(action, gang, [], "comes first in order"), has_victims=True)
        found = self.protections(task, held)
        otherwise = Standings(self._ssn, self.scarcest(task)).guaranteed(
            self._pool.gangs, [last.queue.name], found.free
        )
        return Cause(wording.deadlocked(action, gang, found.most, otherwise), has_victims=True)

    def _is_at_a_ceiling(self, task: Task, rival: Job) -> bool:
        """Whether the queue of the task may hold no more, whatever places the rival gives up."""
        ask = self._ssn.ask
        room = ask.allocatable(task.job.queue, task.task_class)
        if room.count > 0:
            return False
        return room.short is None or rival.queue.slot not in ask.below_ceiling(room, task.job.queue)

    # -- between queues --------------------------------------------------------------------------------------------

    def _why_no_reclaim(self, task: Task, rows: Rows) -> Cause:
        ssn, action = self._ssn, self._scheme.action
        if not self._scheme.may_take(task.job.queue, rows):
            return Cause(wording.claims_too_much(action, *self.claim(task, rows)), has_victims=False)
        dim = self.scarcest(task)
        standings = Standings(ssn, dim)
        own, donors = standings.of(task.job.queue.name), standings.donors(task.job.queue)
        if not donors and own.deserved is not None:
            why = wording.no_donor(action, own, standings.promised_twice(own.queue))
            return Cause(why, has_victims=False)
        held = holders(ssn, dim)
        if not donors:
            elsewhere = held[ssn.ledger.tasks.queue[held] != task.job.queue.slot]
            found = self.protections(task, elsewhere)
            why = wording.shares_keep(action, self._claim_of(f"queue {own.queue}", own.held, dim, rows), found.most)
            return Cause(why, has_victims=bool(found.most))
        names = [each.queue for each in donors]
        held = held[np.isin(ssn.ledger.tasks.queue[held], [ssn.queues[name].slot for name in names])]
        found = self.protections(task, held)
        otherwise = standings.guaranteed(self._pool.gangs, names, found.free)
        return Cause(wording.donors_keep(action, own, donors, found.most, otherwise), has_victims=True)

    # -- inside a queue --------------------------------------------------------------------------------------------

    def _why_no_preempt(self, task: Task, rows: Rows) -> Cause:
        ssn, queue, action = self._ssn, task.job.queue, self._scheme.action
        dim = self.scarcest(task)
        held = holders(ssn, dim)
        if ssn.ask.has_namespace_order and ssn.ask.preempts_equals:
            elsewhere = held[ssn.ledger.tasks.queue[held] == queue.slot]
            elsewhere = elsewhere[ssn.ledger.tasks.job[elsewhere] != task.job.row]
            found = self.protections(task, elsewhere)
            own = self._held_by_namespace(task.job, dim)
            claim = self._claim_of(f"namespace {task.job.namespace}", own, dim, rows)
            why = wording.shares_keep(action, claim, found.most)
            return Cause(why, has_victims=bool(found.most))
        tasks, jobs = ssn.ledger.tasks, ssn.ledger.jobs
        held = held[(tasks.queue[held] == queue.slot) & (tasks.job[held] != task.job.row)]
        others, held = held, held[jobs.priority[tasks.job[held]] < task.job.priority]
        if not len(held):
            equals_may_give = self._equals_may_give(task, others)
            why = wording.no_lesser_job(action, queue.name, equals_may_give=equals_may_give)
            return Cause(why, has_victims=False)
        count = len(np.unique(tasks.job[held]))
        why = wording.lesser_jobs_keep(action, queue.name, count, self.protections(task, held).most)
        return Cause(why, has_victims=True)

    def _equals_may_give(self, task: Task, held: Rows) -> bool:
        """Whether a plugin could give up surplus of jobs that are as important."""
        if self._scheme.only_lesser:
            return False
        spare = held[self._pool.gangs.surplus()[self._ssn.ledger.tasks.job[held]] > 0]
        return bool(len(self._ssn.ask.possible_victims(self._scheme.point, task, self.protections(task, spare).free)))

    def _held_by_namespace(self, job: Job, dim: int) -> int:
        """What the namespace of the job holds in its queue."""
        jobs = self._ssn.ledger.jobs
        is_own = (jobs.queue == job.queue.slot) & (jobs.namespace == jobs.namespace[job.row])
        return int(jobs.allocated[is_own, dim].sum())

    # -- what both need --------------------------------------------------------------------------------------------

    def protections(self, task: Task, held: Rows) -> Protections:
        """What keeps these pods."""
        return Protections(self._ssn, self._pool, self._scheme, task, held)

    def _claim_of(self, side: str, held: int, dim: int, rows: Rows) -> Claim:
        """What the side holds, and the tasks `rows` ask for."""
        classes = self._ssn.ledger.classes
        asked = classes.request[self._ssn.ledger.tasks.task_class[rows], dim].sum()
        return Claim(side, self._ssn.axis.names[dim], held, int(asked))

    def claim(self, task: Task, rows: Rows) -> tuple[Standing, int]:
        """What the queue holds and deserves of the resource of which the tasks `rows` ask for too much, and how much
        that is."""
        ssn, queue = self._ssn, task.job.queue.name
        asked = ssn.ledger.classes.request[ssn.ledger.tasks.task_class[rows]].sum(axis=0)
        dim = first_beyond(ssn, queue, asked, self.scarcest(task))
        return standing(ssn, queue, dim), int(asked[dim])

    def scarcest(self, task: Task) -> int:
        """The resource that the pod asks for of which the cluster has the fewest places left."""
        nodes, asked = self._ssn.ledger.nodes, task.task_class.request
        idle = np.maximum(nodes.future_idle()[nodes.present], 0)
        scarcest: int = min(asked_dims(asked), key=lambda dim: int((idle[:, dim] // asked[dim]).sum()))
        return scarcest
