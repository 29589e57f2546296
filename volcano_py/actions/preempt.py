"""preempt: evict for starving jobs: other jobs of the same queue, then less important tasks of the same job."""

from __future__ import annotations

from typing import ClassVar

from volcano_py.actions.eviction_arguments import EvictionArguments, unit_rules
from volcano_py.config.arguments import Arguments
from volcano_py.framework.action import Action
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.explaining.complete import explain_complete
from volcano_py.framework.eviction.explaining.kept_out import explain_kept_out
from volcano_py.framework.eviction.runs.eviction_run import EvictionRun
from volcano_py.framework.eviction.scheme import Scheme
from volcano_py.framework.eviction.starving import Starving, waiting_jobs
from volcano_py.framework.ordering.namespace_order import waiting_in
from volcano_py.framework.ordering.queue_order import queue_order
from volcano_py.framework.session import Session
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows


class Preempt(Action):
    """Queue by queue in queue order. First each starving job, in job order, against the other jobs of the queue; then
    the tasks that still wait, one by one, against tasks of their own job."""

    name = "preempt"
    arguments_type: ClassVar[type[Arguments]] = EvictionArguments
    only_lesser: ClassVar[bool] = False
    """Whether only jobs of a lower priority lose pods, whatever plugins say."""
    within_jobs: ClassVar[bool] = True
    """Whether tasks are evicted for more important ones of their own job."""

    def execute(self, ssn: Session) -> None:
        explain_kept_out(ssn, self.name, "preemptable")
        by_queue, complete = waiting_jobs(ssn)
        explain_complete(ssn, self.name, complete)
        if not by_queue:
            return
        pool = Candidates(ssn, unit_rules(ssn, self.arguments))
        run = EvictionRun(ssn, pool, self.scheme(ssn, pool), by_queue)
        own = Scheme(self.name, "preemptable", pool.in_job, takes_whole=False)
        queues = queue_order(ssn, (ssn.queues[name] for name in by_queue))
        while queues:
            queue = queues.pop()
            works = by_queue[queue.name]
            held = ssn.reservations.held
            waiting = waiting_in(ssn, queue, works, job_of=lambda work: work.job)
            while waiting:
                run.evict_for(waiting.pop())
            for work in works if self.within_jobs else ():
                self._within(ssn, run, own, work)
            # Between queues it is allocate's order that counts: none is to evict its own for what it would get there.
            ssn.reservations.give_back(since=held)

    def scheme(self, ssn: Session, pool: Candidates) -> Scheme:  # noqa: ARG002
        """What its evictions between jobs go by."""
        return Scheme(self.name, "preemptable", pool.in_queue, only_lesser=self.only_lesser)

    @staticmethod
    def _within(ssn: Session, run: EvictionRun, scheme: Scheme, work: Starving) -> None:
        """Each waiting task by itself, until one finds no place."""
        for row in _pending(ssn, work.tasks):
            if not ssn.ask.job_starving(work.job) or not run.evict_within(work, row, scheme):
                return


def _pending(ssn: Session, rows: Rows) -> list[Rows]:
    still = rows[ssn.ledger.tasks.status[rows] == TaskStatus.PENDING]
    return [still[place : place + 1] for place in range(len(still))]
