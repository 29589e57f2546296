"""backfill: place tasks without requests. They need no share and no free resources, only a place for a pod."""

from __future__ import annotations

from volcano_py.framework.action import Action
from volcano_py.framework.job import FitError, Job
from volcano_py.framework.session import Session
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass


class Backfill(Action):
    """Queue by queue, job by job, task by task in order, each once; bound when the job is ready with it."""

    name = "backfill"

    def execute(self, ssn: Session) -> None:
        if not ssn.has_best_effort_tasks:
            return
        by_queue: dict[str, list[tuple[Job, Rows]]] = {}
        for job, rows in ssn.jobs_with_pending_tasks():
            if job.is_pending:
                continue
            best_effort = rows[ssn.best_effort_classes[ssn.ledger.tasks.task_class[rows]]]
            # Such tasks alone do not complete a gang that lacks others.
            if len(best_effort) and not ssn.is_set_aside(job, rows) and ssn.ask.job_ready(job):
                by_queue.setdefault(job.queue.name, []).append((job, best_effort))
        for queue in sorted((ssn.queues[name] for name in by_queue), key=ssn.ask.full_queue_key):
            for job, rows in sorted(by_queue[queue.name], key=lambda work: ssn.ask.job_key(work[0])):
                self._fill(ssn, job, ssn.ask.ordered_tasks(rows))

    def _fill(self, ssn: Session, job: Job, rows: Rows) -> None:
        statement = ssn.statement()
        failed: set[int] = set()
        for row in rows.tolist():
            task_class = ssn.task_class(row)
            if task_class.row in failed:
                continue
            if (refusal := ssn.ask.pre_predicate(task_class)) is not None:
                total = int(ssn.ledger.nodes.present.sum())
                self._fail(ssn, job, task_class, FitError.of_all(total, refusal), failed)
                continue
            choice = ssn.placer.choose(task_class, 1, ssn.topology.confinement(job, row))
            if not len(choice.nodes):
                self._fail(ssn, job, task_class, ssn.placer.misfit(task_class), failed)
            elif not choice.pipelined:
                statement.allocate(job, task_class, rows[rows == row], choice.nodes)
        if ssn.ask.gang_ready(job):
            statement.commit()
        else:
            statement.discard()

    @staticmethod
    def _fail(ssn: Session, job: Job, task_class: TaskClass, error: FitError, failed: set[int]) -> None:
        ssn.findings.misfit(job, task_class, error)
        failed.add(task_class.row)
