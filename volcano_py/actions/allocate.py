"""allocate: find nodes for pending tasks, gang by gang, and bind what is complete."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.reasons import Reason
from volcano_py.api.wording import explain_ceilings
from volcano_py.framework.action import Action
from volcano_py.framework.job import FitError, Job
from volcano_py.framework.ordering.namespace_order import Waiting, waiting_in
from volcano_py.framework.ordering.queue_order import queue_order
from volcano_py.framework.placement.placer import Choice
from volcano_py.framework.roles import minimums_first
from volcano_py.framework.session import Session
from volcano_py.framework.statement import Statement
from volcano_py.state.infos import QueueInfo
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.ledger import Rows
from volcano_py.state.task_class import Refusal, TaskClass


class Work(msgspec.Struct, eq=False):
    """A job with the tasks it still wants placed in this cycle, in task order, what minimums of roles need first."""

    job: Job
    tasks: Rows
    best_effort: Rows
    """Its pending tasks that ask for nothing; only used to complete the gang, the rest is backfill's. Those that are
    promised a place are tasks like any other."""
    failed_roles: set[int] = msgspec.field(default_factory=set)

    def run_length(self, ssn: Session) -> int:
        """How many tasks at the front are alike: same class and role."""
        if len(self.tasks) == 1:
            return 1
        tasks = ssn.ledger.tasks
        alike = (tasks.task_class[self.tasks] == tasks.task_class[self.tasks[0]]) & (
            tasks.role[self.tasks] == tasks.role[self.tasks[0]]
        )
        return len(alike) if alike.all() else int(np.argmin(alike))


class Allocate(Action):
    """Queues take turns in queue order, each with its best job: of its best namespace, where namespaces are ordered.

    A job's turn places its gang, afterwards one task a turn, so that queues and jobs share as their shares move. A gang
    that cannot be completed gives everything back, unless it would be complete once what is being released is free:
    then it keeps its places for the cycle. A gang that was bound in part (a restart, a failed binding) goes before
    everything else, because what it holds is useless until the gang is complete. Only jobs for which pods were evicted
    go before it: nothing else may take the places of the evicted pods, least of all their own jobs.
    """

    name = "allocate"

    def execute(self, ssn: Session) -> None:
        ssn.reservations.give_back()
        if "enqueue" not in ssn.configuration.actions:
            # Also jobs without pods: their controller creates pods only then.
            for job in ssn.unenqueued_jobs():
                ssn.enqueue(job)
        by_queue = self._by_queue(ssn, self._finish(ssn, self._collect(ssn)))
        queues = queue_order(ssn, (ssn.queues[name] for name in by_queue))
        while queues:
            queue = queues.pop()
            works = by_queue[queue.name]
            if not works:
                continue
            if ssn.ask.overused(queue):
                self._drop(ssn, queue, works)
                continue
            work = works.pop()
            alone = not queues and not works
            if Turn(ssn, work, alone=alone).take() and len(work.tasks):
                works.push(work)
            queues.push(queue)

    @staticmethod
    def _drop(ssn: Session, queue: QueueInfo, works: Waiting[Work]) -> None:
        """The queue holds all it deserves: note that as the reason of its jobs."""
        refusal = Refusal(Reason.OVER_DESERVED, explain_ceilings.queue_overused(queue.name))
        for work in works:
            ssn.findings.note(work.job, refusal)

    def _collect(self, ssn: Session) -> list[Work]:
        """What there is to place."""
        best_effort_classes = ssn.best_effort_classes
        works: list[Work] = []
        for job, rows in ssn.jobs_with_pending_tasks():
            if job.is_pending or ssn.is_set_aside(job, rows):
                continue
            ordered = minimums_first(ssn, job, ssn.ask.ordered_tasks(rows))
            if not job.best_effort_pending:
                works.append(Work(job, ordered, ordered[:0]))
                continue
            best_effort = best_effort_classes[ssn.ledger.tasks.task_class[ordered]] & ~ssn.reservations.promised(
                ordered
            )
            if not best_effort.all():
                works.append(Work(job, ordered[~best_effort], ordered[best_effort]))
        return works

    @staticmethod
    def _finish(ssn: Session, works: list[Work]) -> list[Work]:
        """Jobs that are promised places, then gangs that are bound in part (among which are those that lost pods to the
        former), have their turn at once; returns the work that is left for the turns.

        All take what they were promised before any looks for more, or for a place instead of one that is gone: no job
        may take what others were promised.
        """
        left: list[Work] = []
        unfinished: list[Work] = []
        promised: list[Work] = []
        for work in works:
            if work.job.row in ssn.reservations.jobs:
                promised.append(work)
            else:
                is_unfinished = work.job.allocated_tasks > 0 and not ssn.ask.job_ready(work.job)
                (unfinished if is_unfinished else left).append(work)
        unfinished.sort(key=lambda work: ssn.ask.job_key(work.job))
        promised.sort(key=lambda work: ssn.ask.job_key(work.job))
        seeking: list[tuple[Work, Statement]] = []
        for work in promised:
            held = _take_promised(ssn, work)
            if held is not None:
                seeking.append((work, held))
            elif len(work.tasks):
                left.append(work)
        left.extend(work for work, held in seeking if _seek(ssn, work, held) and len(work.tasks))
        left.extend(work for work in unfinished if Turn(ssn, work, alone=False).take() and len(work.tasks))
        return left

    @staticmethod
    def _by_queue(ssn: Session, works: list[Work]) -> dict[str, Waiting[Work]]:
        by_queue: dict[str, list[Work]] = {}
        for work in works:
            by_queue.setdefault(work.job.queue.name, []).append(work)
        return {
            name: waiting_in(ssn, ssn.queues[name], waiting, job_of=lambda work: work.job)
            for name, waiting in by_queue.items()
        }


def _take_promised(ssn: Session, work: Work) -> Statement | None:
    """Its promised tasks go where they were promised a place. If that is not all (see `Reservations.place`), or the job
    needs more tasks than those, the statement is left open: it holds what can be had until the job seeks the rest."""
    job, holds = work.job, ssn.reservations.promised(work.tasks)
    statement = ssn.statement()
    if not ssn.reservations.place(job, work.tasks[holds], statement):
        return statement
    if ssn.ask.gang_ready(job):
        statement.commit()
        work.tasks = work.tasks[~holds]
        return None
    if holds.all() and not ssn.ask.job_ready(job) and ssn.ask.job_pipelined(job):
        work.tasks = work.tasks[:0]  # the rest is only waiting to be released
        return None
    return statement


def _seek(ssn: Session, work: Work, held: Statement) -> bool:
    """Turns until no promised task waits, wherever there is room; whether the last one was good."""
    ssn.reservations.release(held)
    holds = ssn.reservations.promised(work.tasks)
    if _take_at_once(ssn, work, holds):
        return True
    work.tasks = np.concatenate((work.tasks[holds], work.tasks[~holds]))
    others = int((~holds).sum())
    while Turn(ssn, work, alone=False, leaves=others).take():
        if len(work.tasks) <= others:
            return True
    return False


def _take_at_once(ssn: Session, work: Work, holds: NDArray[np.bool_]) -> bool:
    """The promised tasks go where there is room now, rather than wait; a gang that would not be whole has no use for
    it, and keeps others from what is free."""
    statement = ssn.statement()
    if ssn.reservations.place(work.job, work.tasks[holds], statement, elsewhere=True) and ssn.ask.gang_ready(work.job):
        statement.commit()
        work.tasks = work.tasks[~holds]
        return True
    ssn.reservations.release(statement)
    return False


class Turn:
    """One turn of one job."""

    def __init__(self, ssn: Session, work: Work, *, alone: bool, leaves: int | None = None) -> None:
        """`alone`: no other job competes, so a ready job may place all its tasks in one turn. `leaves`: how many tasks
        later turns are for, even if the job is ready before all others have been tried; None for any number."""
        self._ssn = ssn
        self._work = work
        self._job = work.job
        self._alone = alone
        self._leaves = len(work.tasks) if leaves is None else leaves
        self._statement: Statement = ssn.statement()

    def take(self) -> bool:
        """True when the job is ready and what was placed is committed."""
        ready = self._ssn.ask.job_ready(self._job)
        while len(self._work.tasks):
            go_on = self._place_front(ready)
            ready = self._ssn.ask.job_ready(self._job)
            if not go_on or (ready and len(self._statement) and len(self._work.tasks) <= self._leaves):
                break
        if ready:
            if self._complete_with_best_effort():
                self._statement.commit()
                return True
            with self._job.without_best_effort():
                keep = self._ssn.ask.job_pipelined(self._job)
        else:
            keep = self._ssn.ask.job_pipelined(self._job)
        if not keep:
            self._statement.discard()
        elif len(self._statement):
            self._ssn.findings.keep_places(self._job)
        return False

    def _place_front(self, was_ready: bool) -> bool:
        """Place, or give up on, tasks at the front. False when the rest of the job need not be tried."""
        ssn, work = self._ssn, self._work
        length = work.run_length(ssn)
        first = int(work.tasks[0])
        task_class, role = ssn.task_class(first), int(ssn.ledger.tasks.role[first])
        if role and role in work.failed_roles:
            work.tasks = work.tasks[length:]
            return True
        room = ssn.ask.bindable(self._job.queue, task_class)
        if room.count <= 0:
            if ssn.reservations.holds(first):
                # It may come once pods below the ceiling are gone: lesser jobs must not take its room meanwhile.
                ssn.reservations.place(self._job, work.tasks[:1], self._statement)
                length = 1
            if room.refusal is not None:
                ssn.findings.note(self._job, room.refusal)
            work.tasks = work.tasks[length:]
            return True
        if (refusal := ssn.ask.pre_predicate(task_class)) is not None:
            total = int(ssn.ledger.nodes.present.sum())
            return self._misfit(task_class, role, length, FitError.of_all(total, refusal))
        wanted = min(self._wanted(length, was_ready), room.count)
        placed = self._place(task_class, work.tasks[: max(1, wanted)])
        if not placed:
            return self._misfit(task_class, role, length, ssn.placer.misfit(task_class))
        work.tasks = work.tasks[placed:]
        return True

    def _wanted(self, length: int, was_ready: bool) -> int:
        """How many of the tasks at the front this turn is for."""
        if length == 1 or (was_ready and self._alone):
            return length
        return 1 if was_ready else min(length, self._ssn.ask.tasks_to_ready(self._job))

    def _place(self, task_class: TaskClass, rows: Rows) -> int:
        """Place as many of the rows as the next choice covers; how many that were."""
        ssn = self._ssn
        choice = self._nominated(task_class, rows) if ssn.has_nominated_tasks else None
        if choice is None:
            choice = ssn.placer.choose(task_class, len(rows))
        placed = rows[: len(choice.nodes)]
        if len(placed):
            put = self._statement.pipeline if choice.pipelined else self._statement.allocate
            put(self._job, task_class, placed, choice.nodes)
        return len(placed)

    def _nominated(self, task_class: TaskClass, rows: Rows) -> Choice | None:
        """A task that was promised a node goes there if it can; those before it are placed by themselves."""
        ssn = self._ssn
        promised = np.flatnonzero(ssn.ledger.tasks.nominated[rows])
        if not len(promised):
            return None
        if promised[0] > 0:
            return ssn.placer.choose(task_class, int(promised[0]))
        node = ssn.nodes.rows.get(ssn.task_info(int(rows[0])).nominated_node)
        choice = None if node is None else ssn.placer.choose_on(task_class, node)
        return choice if choice is not None and len(choice.nodes) else ssn.placer.choose(task_class, 1)

    def _misfit(self, task_class: TaskClass, role: int, length: int, error: FitError) -> bool:
        """No node for the class: its other tasks here need not be tried; whether the rest of the job is worth it."""
        self._ssn.findings.misfit(self._job, task_class, error)
        self._work.tasks = self._work.tasks[length:]
        self._work.failed_roles.add(role)
        return self._worth_going_on()

    def _worth_going_on(self) -> bool:
        job, ssn = self._job, self._ssn
        minimums = job.info.min_task_member
        if job.min_member == job.tasks:
            return False
        if job.min_member < sum(minimums.values()):
            roles = ssn.ledger.tasks.role[self._work.tasks]
            hopeful = int((~np.isin(roles, list(self._work.failed_roles))).sum())
            return job.ready + hopeful >= job.min_member
        return all(
            ssn.role_count(job, role, (TaskStatus.ALLOCATED, TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING))
            >= minimums.get(ssn.snapshot.roles[role], 0)
            for role in self._work.failed_roles
        )

    def _complete_with_best_effort(self) -> bool:
        """Tasks that ask for nothing count as ready before they are placed; make it true before anything is bound."""
        ssn, work = self._ssn, self._work
        if not self._job.best_effort_pending:
            return True  # it was found ready without any
        while not ssn.ask.gang_ready(self._job):
            if not len(work.best_effort):
                return False
            first, work.best_effort = work.best_effort[:1], work.best_effort[1:]
            task_class = ssn.task_class(int(first[0]))
            if ssn.ask.pre_predicate(task_class) is None and self._place(task_class, first):
                continue
            ssn.findings.misfit(self._job, task_class, ssn.placer.misfit(task_class))
        return True
