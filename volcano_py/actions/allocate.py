"""allocate: find nodes for pending tasks, gang by gang, and bind what is complete."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from volcano_py.actions.turns.ahead import OrderedTurns
from volcano_py.actions.turns.single import SingleTurns
from volcano_py.actions.turns.turn import Work, expect_single_tasks
from volcano_py.actions.turns.turns import turn_of
from volcano_py.framework.action import Action
from volcano_py.framework.ordering.namespace_order import Waiting, waiting_in
from volcano_py.framework.ordering.queue_order import QueueOrder, queue_order
from volcano_py.framework.roles import minimums_first
from volcano_py.framework.session import Session
from volcano_py.framework.statement import Statement
from volcano_py.state.infos import QueueInfo
from volcano_py.state.status import ALLOCATED_STATUSES


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
        singles = SingleTurns(ssn)
        try:
            self._take_turns(ssn, queues, by_queue, singles)
        finally:
            singles.settle()

    def _take_turns(
        self, ssn: Session, queues: QueueOrder, by_queue: Mapping[str, Waiting[Work]], singles: SingleTurns
    ) -> None:
        ordered = OrderedTurns(ssn, by_queue, singles)
        while queues:
            if ordered.pay:
                queues = queue_order(ssn, ordered.take(queues))
                continue
            queue = queues.pop()
            works = by_queue[queue.name]
            if not works:
                continue
            if ssn.ask.overused(queue):
                self._drop(ssn, queue, works)
                continue
            work, is_last = works.pop(), not queues
            if is_last:
                expect_single_tasks(ssn, chain((work,), works.in_order()))
            if not singles.take(work):
                alone = is_last and not works
                if turn_of(ssn, work, alone=alone).take() and len(work.tasks):
                    works.push(work)
            queues.push(queue)

    @staticmethod
    def _drop(ssn: Session, queue: QueueInfo, works: Waiting[Work]) -> None:
        """The queue has its share: note that as the reason of its jobs."""
        refusal = ssn.ask.why_overused(queue)
        for work in works:
            ssn.findings.note(work.job, refusal)

    def _collect(self, ssn: Session) -> list[Work]:
        """What there is to place."""
        best_effort_classes = ssn.best_effort_classes
        works: list[Work] = []
        for job, rows in ssn.admitted_jobs_to_place():
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
        rows, with_promises = [work.job.row for work in works], ssn.reservations.jobs
        are_begun: NDArray[np.bool_] = np.any(ssn.ledger.jobs.counts[rows][:, ALLOCATED_STATUSES], axis=1)
        for work, row, is_begun in zip(works, rows, are_begun.tolist(), strict=True):
            if row in with_promises:
                promised.append(work)
            else:
                is_unfinished = is_begun and not ssn.ask.job_ready(work.job)
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
        left.extend(work for work in unfinished if turn_of(ssn, work, alone=False).take() and len(work.tasks))
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
    while turn_of(ssn, work, alone=False, leaves=others).take():
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
