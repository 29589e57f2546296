"""Why one job keeps what another one lacks, where an action evicts."""

from __future__ import annotations

import numpy as np

from volcano_py.api.wording import explain_evictions as wording
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.deadlocks import Deadlocks
from volcano_py.framework.eviction.explaining.causes import Causes
from volcano_py.framework.eviction.judging import judge
from volcano_py.framework.eviction.planning.attempt import lacking
from volcano_py.framework.eviction.scheme import NEVER, Scheme
from volcano_py.framework.eviction.starving import counts_beyond_minimum
from volcano_py.framework.eviction.units import Need, Unit, Verdict
from volcano_py.framework.job import Job, Task
from volcano_py.framework.session import Session
from volcano_py.framework.status.queue_reports import standing
from volcano_py.state.status import EVICTABLE_STATUSES
from volcano_py.state.table.table import Rows


class Keeping:
    """Asks the parts of one action, in a session in which it has done nothing, about one waiting job.

    `rows` are the tasks of the job that have no places.
    """

    def __init__(self, ssn: Session, pool: Candidates, scheme: Scheme, job: Job, rows: Rows) -> None:
        self._ssn, self._pool, self._scheme, self._rows = ssn, pool, scheme, lacking(ssn, job, rows)
        self._causes = Causes(ssn, pool, scheme, Deadlocks(ssn, pool, scheme, {}))
        row = int(rows[0])
        self._task = Task(row, job, ssn.task_class(row), int(ssn.ledger.tasks.priority[row]))
        self._dim = self._causes.scarcest(self._task)
        self.takes_nothing = self._takes_nothing()
        """Why the action evicts nothing at all for the job; empty where it may."""

    def why(self, holder: Job) -> str:
        """Why the pods of `holder` stay, as a clause; empty where they may go."""
        ssn, tasks = self._ssn, self._ssn.ledger.tasks
        held = ssn.tasks_of(holder)
        held = held[EVICTABLE_STATUSES[tasks.status[held]]]
        protections = self._causes.protections(self._task, held)
        if not len(protections.free):
            return wording.kept(protections.most)
        if self._scheme.only_lesser and holder.priority >= self._task.job.priority:
            return wording.no_lesser_priority(holder.priority, self._task.job.priority)
        judged = judge(ssn.dispatch, self._scheme.point, self._need(), self._unit(holder, held))
        return "" if judged.verdict is not Verdict.NO else self._refusal(holder, judged.refused_by)

    def _takes_nothing(self) -> str:
        ssn, job, action = self._ssn, self._task.job, self._scheme.action
        if job.is_pending:
            return wording.not_admitted(action)
        if ssn.task_info(self._task.row).preemption_policy == NEVER:
            return wording.never(action)
        if not self._scheme.may_take(job.queue, self._rows):
            return wording.claims_too_much(action, *self._causes.claim(self._task, self._rows))
        if not counts_beyond_minimum(ssn) and not ssn.ask.job_starving(job):
            return wording.for_minimums_only(action, job.min_member)
        return ""

    def _need(self) -> Need:
        ssn = self._ssn
        request = ssn.ledger.classes.request[ssn.ledger.tasks.task_class[self._rows]].sum(axis=0)
        nodes = ssn.ledger.nodes
        idle = np.maximum(nodes.future_idle()[nodes.present], 0).sum(axis=0)
        return Need(self._task, request, request > idle)

    def _unit(self, holder: Job, held: Rows) -> Unit:
        """What it would lose first: a pod beyond its minimum, else everything."""
        gangs, requests = self._pool.gangs, self._ssn.ledger.classes.request
        if gangs.surplus()[holder.row] > 0 or not gangs.take_whole:
            row = int(held[0])
            return Unit.alone(holder, row, requests[self._ssn.ledger.tasks.task_class[row]])
        return gangs.whole(holder)

    def _refusal(self, holder: Job, plugin: str) -> str:
        own = standing(self._ssn, holder.queue.name, self._dim)
        if holder.queue is not self._task.job.queue:
            if own.deserved is not None and own.held <= own.deserved:
                return wording.has_no_more_than_deserved(own)
        elif holder.priority >= self._task.job.priority:
            return wording.no_lesser_priority(holder.priority, self._task.job.priority)
        return wording.plugin_keeps(plugin)
