"""What an attempt looks at, as columns: the pods that may go, what is wanted, and what is lacking."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.eviction.planning.attempt import Attempt
from volcano_py.framework.eviction.planning.bundles import JobFacts, Stock, Wanted
from volcano_py.framework.eviction.planning.cost import victim_ranks
from volcano_py.framework.eviction.units import Need, Unit
from volcano_py.framework.job import Task
from volcano_py.state.table.table import Rows


class Stays(msgspec.Struct, frozen=True, eq=False):
    """What was refused and is not tried again.

    Attributes:
        alone: [T] pods, as units of their own.
        whole: [J] jobs, as a whole.
    """

    alone: NDArray[np.bool_]
    whole: NDArray[np.bool_]


class Columns:
    """See the module; of the moment of each question.

    Attributes:
        sub_groups: those that may go by themselves, of the last stock.
    """

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self.sub_groups: list[Unit] = []

    def stock(self, task: Task, candidates: Rows, stays: Stays, dims: Rows | None = None) -> Stock:
        """[P] the candidates that may go for the task, but for those that stay; `dims`: for these resources alone."""
        ssn, gangs = self._attempt.ssn, self._attempt.pool.gangs
        tasks = ssn.ledger.tasks
        job = tasks.job[candidates].astype(np.intp)
        spares = gangs.surplus()[job]
        spare = (spares > 0) & (gangs.surplus_of_roles(candidates) > 0) & ~stays.alone[candidates]
        spare &= gangs.surplus_of_groups(candidates) > 0
        whole = self.may_go_whole(task, candidates) & ~stays.whole[job]
        sub_group = self._sub_groups(task, candidates, stays)
        if self._attempt.scheme.only_lesser:
            lesser = ssn.ledger.jobs.priority[job] < task.job.priority
            spare, whole, sub_group = spare & lesser, whole & lesser, np.where(lesser, sub_group, -1)
        # A sub-group that may go goes as a job of its own would, numbered after the jobs.
        job = np.where(sub_group >= 0, ssn.ledger.jobs.size + sub_group, job)
        whole |= sub_group >= 0
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
            turn=self._attempt.pool.turn[candidates],
        )

    def may_go_whole(self, task: Task, candidates: Rows) -> NDArray[np.bool_]:
        """[P] the candidates whose job may go whole for the task."""
        ssn, gangs = self._attempt.ssn, self._attempt.pool.gangs
        job = ssn.ledger.tasks.job[candidates]
        if not self._attempt.level.whole or not self._attempt.scheme.takes_whole:
            return np.zeros(len(candidates), dtype=np.bool_)
        whole = gangs.may_go_whole()[job]
        if self._must_be_lesser():
            whole &= ssn.ledger.jobs.priority[job] < task.job.priority
        if task.task_class.best_effort:
            whole &= ~gangs.request_something()[job]
        return whole

    def _sub_groups(self, task: Task, candidates: Rows, stays: Stays) -> Rows:
        """[P] the place in `sub_groups` of the sub-group that each candidate may go with; -1 for none."""
        ssn = self._attempt.ssn
        found = np.full(ssn.ledger.tasks.size, -1, dtype=np.intp)
        self.sub_groups = self._attempt.pool.gangs.sub_groups()
        for number, unit in enumerate(self.sub_groups):
            classes = ssn.ledger.tasks.task_class[unit.rows]
            is_asked = not task.task_class.best_effort or ssn.best_effort_classes[classes].all()
            if is_asked and not stays.alone[unit.rows].any():
                found[unit.rows] = number
        return found[candidates]

    def _must_be_lesser(self) -> bool:
        """Whether only jobs of a lower priority may go whole."""
        scheme = self._attempt.scheme
        return (
            scheme.point == "preemptable" and not scheme.among_deadlocked and not self._attempt.ssn.ask.preempts_equals
        )

    def wanted(self, task: Task) -> Wanted:
        """What places are made for: the task and those like it."""
        ssn, dims = self._attempt.ssn, task.task_class.requested
        idle = ssn.ledger.nodes.future_idle()[:, dims]
        classes = ssn.ledger.tasks.task_class[self._attempt.unplaced()]
        alike = int(np.count_nonzero(classes == task.task_class.row))
        count = max(1, min(alike, ssn.ask.tasks_to_ready(task.job) - task.job.waiting))
        return Wanted(task.task_class.request[dims], count, idle, 1 / np.maximum(ssn.total[dims], 1))

    def need(self, task: Task, wanted: Wanted) -> Need:
        """What there is too little of: each resource by itself, or all of them if each alone would do."""
        dims = task.task_class.requested
        lacking = np.zeros(len(task.task_class.request), dtype=np.bool_)
        room = np.maximum(wanted.idle // wanted.request, 0).sum(axis=0)
        short = room < wanted.count
        lacking[dims] = short if short.any() else True
        return self.need_of(task, lacking)

    def need_of(self, task: Task, lacking: NDArray[np.bool_]) -> Need:
        """What units are evicted for, where these resources are lacking."""
        return Need(task, self._request_of_rest(), lacking, self._attempt.scheme.among_deadlocked)

    def _request_of_rest(self) -> NDArray[np.int64]:
        """[R] what the tasks request together that the gang still lacks."""
        classes = self._attempt.ssn.ledger.tasks.task_class[self._attempt.rest()]
        request: NDArray[np.int64] = self._attempt.ssn.ledger.classes.request[classes].sum(axis=0)
        return request

    def facts(self, dims: Rows) -> JobFacts:
        """[J] what bundles are compared by, also for the sub-groups of the last stock, which come after the jobs."""
        jobs, complete = self._attempt.ssn.ledger.jobs, self._attempt.pool.gangs.are_complete()
        if not self.sub_groups:
            return JobFacts(jobs.priority, complete, jobs.allocated[:, dims])
        return JobFacts(
            np.append(jobs.priority[: jobs.size], [unit.job.priority for unit in self.sub_groups]),
            np.append(complete[: jobs.size], np.zeros(len(self.sub_groups), dtype=np.bool_)),
            np.concatenate((jobs.allocated[: jobs.size, dims], [unit.request[dims] for unit in self.sub_groups])),
        )
