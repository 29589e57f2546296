"""enqueue: let pending PodGroups into the cluster (Pending → Inqueue), so that their pods are created and placed."""

from __future__ import annotations

from volcano_py.framework.action import Action
from volcano_py.framework.job import Job
from volcano_py.framework.ordering import Heap
from volcano_py.framework.queue_order import queue_order
from volcano_py.framework.session import Session
from volcano_py.framework.votes import Vote


class Enqueue(Action):
    """Queues in queue order take turns, each with its best pending job.

    A job without minResources always enters, and so does one that holds places: it was let in before and has lost a pod
    since, and its minimum beside what it holds would keep it out for ever. Others need the plugins' votes. A refused
    job is not tried again in this cycle and does not hold up those behind it. Nothing is placed; plugins remember what
    they let in.
    """

    name = "enqueue"

    def execute(self, ssn: Session) -> None:
        pending = ssn.jobs_kept_out()
        if not any(_is_voted_on(job) for job in pending):
            # All enter, and turns would cost more than the rest of it.
            for job in pending:
                self._let_in(ssn, job)
            return
        waiting = self._by_queue(ssn, pending)
        queues = queue_order(ssn, (ssn.queues[name] for name in waiting))
        while queues:
            queue = queues.pop()
            jobs = waiting[queue.name]
            if not jobs:
                continue
            self._consider(ssn, jobs.pop())
            queues.push(queue)

    @staticmethod
    def _by_queue(ssn: Session, jobs: list[Job]) -> dict[str, Heap[Job]]:
        by_queue: dict[str, list[Job]] = {}
        for job in jobs:
            by_queue.setdefault(job.queue.name, []).append(job)
        return {name: Heap(ssn.job_key, jobs) for name, jobs in by_queue.items()}

    def _consider(self, ssn: Session, job: Job) -> None:
        if _is_voted_on(job):
            ballot = ssn.job_enqueueable(job)
            if ballot.vote is Vote.REJECT:
                if ballot.refusal is not None:
                    ssn.note(job, ballot.refusal)
                return
        self._let_in(ssn, job)

    @staticmethod
    def _let_in(ssn: Session, job: Job) -> None:
        ssn.job_enqueued(job)
        ssn.let_in(job)


def _is_voted_on(job: Job) -> bool:
    return job.min_resources is not None and not job.allocated_tasks
