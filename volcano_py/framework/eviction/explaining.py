"""Why preempt or reclaim evict nothing for a job: the one cause, with numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from volcano_py.api.wording import explain_evictions as wording
from volcano_py.api.wording.explain_evictions import Protection
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.deadlocks import Deadlocks
from volcano_py.framework.eviction.scheme import NEVER, Scheme
from volcano_py.framework.job import Job, Task
from volcano_py.framework.session import Session
from volcano_py.framework.status.queue_reports import queue_reports, standing
from volcano_py.state.status import EVICTABLE_STATUSES
from volcano_py.state.table.axis import PODS
from volcano_py.state.table.table import Rows

_MOST_EXPLAINED: Final = 64
"""Kinds of jobs whose cause is worked out in one action; each takes a look at all pods."""
_MOST_PROTECTIONS: Final = 3


class Explaining:
    """Explains jobs for which an action found nothing; made for one run of the action."""

    def __init__(self, ssn: Session, pool: Candidates, scheme: Scheme, deadlocks: Deadlocks) -> None:
        self._ssn = ssn
        self._pool = pool
        self._scheme = scheme
        self._deadlocks = deadlocks
        self._known: dict[tuple[int, int, int, str, int], str] = {}

    def note(self, job: Job, rows: Rows) -> None:
        """Record why nothing was evicted for the job, whose tasks `rows` have no places."""
        ssn, row = self._ssn, int(rows[0])
        policy, task_class = ssn.task_info(row).preemption_policy, ssn.task_class(row)
        task = Task(row, job, task_class, int(ssn.ledger.tasks.priority[row]))
        if (deadlock := self._deadlock(task)) is not None:
            ssn.findings.explain_no_evictions(job, deadlock)
            return
        key = (job.queue.slot, job.priority, task_class.row, policy, len(rows))
        if key not in self._known:
            if len(self._known) == _MOST_EXPLAINED:
                return
            self._known[key] = self._why(task, rows, policy)
        ssn.findings.explain_no_evictions(job, self._known[key])

    def _why(self, task: Task, rows: Rows, policy: str) -> str:
        action = self._scheme.action
        if policy == NEVER:
            return wording.never(action)
        return self._why_no_reclaim(task, rows) if self._scheme.point == "reclaimable" else self._why_no_preempt(task)

    def _deadlock(self, task: Task) -> str | None:
        """Why a gang that is deadlocked with the job keeps its places; None when there is none."""
        rivals = self._deadlocks.rivals(task)
        if not rivals:
            return None
        last, tasks = rivals[-1], self._ssn.ledger.tasks
        comes_first = self._deadlocks.order(last) < self._deadlocks.order(task.job)
        held = np.flatnonzero((tasks.job == last.row) & EVICTABLE_STATUSES[tasks.status])
        gang = wording.Gang(last.key, last.ready, last.min_member)
        if comes_first:
            return wording.deadlocked(self._scheme.action, gang, [], "it comes first in order")
        protections = list(self.protections(task, held))
        return wording.deadlocked(
            self._scheme.action, gang, protections, self._guarantee(last.queue.name, self.scarcest(task))
        )

    # -- between queues --------------------------------------------------------------------------------------------

    def _why_no_reclaim(self, task: Task, rows: Rows) -> str:
        ssn, action = self._ssn, self._scheme.action
        dim = self.scarcest(task)
        own = standing(ssn, task.job.queue.name, dim)
        if not self._scheme.may_take(task.job.queue, rows):
            asked = int(ssn.ledger.classes.request[ssn.ledger.tasks.task_class[rows], dim].sum())
            return wording.claims_too_much(action, own, asked)
        others = [standing(ssn, queue.name, dim) for queue in ssn.queues.values() if queue is not task.job.queue]
        donors = [
            (each.queue, each.held - each.deserved)
            for each in others
            if each.deserved is not None and each.held > each.deserved
        ]
        if not donors and own.deserved is not None:
            return wording.no_donor(action, own, self._deserved_by_all(dim), int(ssn.total[dim]))
        held = self._holders(dim)
        if not donors:
            elsewhere = held[ssn.ledger.tasks.queue[held] != task.job.queue.slot]
            return wording.shares_keep(action, f"queue {own.queue}", list(self.protections(task, elsewhere)))
        donors.sort(key=lambda donor: (-donor[1], donor[0]))
        slots = [ssn.queues[name].slot for name, _ in donors]
        held = held[np.isin(ssn.ledger.tasks.queue[held], slots)]
        protections = list(self.protections(task, held))
        return wording.donors_keep(action, own, donors, protections, self._guarantee(donors[0][0], dim))

    def _deserved_by_all(self, dim: int) -> int:
        """What the queues deserve together of a resource; in a tree, those directly below root."""
        paths, reports = self._ssn.ask.queue_paths(), self._ssn.shared(queue_reports)
        tops = [name for name in self._ssn.queues if not paths or len(paths.get(name, ())) == 1]
        return sum(reports[name].deserved.get(self._ssn.axis.names[dim], 0) for name in tops)

    def _guarantee(self, name: str, dim: int) -> str:
        """What the queue is guaranteed of a resource, as a reason to keep its pods; empty when that is nothing."""
        resource = self._ssn.axis.names[dim]
        amount = self._ssn.shared(queue_reports)[name].guarantee.get(resource, 0)
        return wording.guaranteed(name, resource, amount) if amount else ""

    # -- inside a queue --------------------------------------------------------------------------------------------

    def _why_no_preempt(self, task: Task) -> str:
        ssn, queue, action = self._ssn, task.job.queue, self._scheme.action
        held = self._holders(self.scarcest(task))
        if ssn.ask.has_namespace_order and ssn.ask.preempts_equals:
            elsewhere = held[ssn.ledger.tasks.queue[held] == queue.slot]
            elsewhere = elsewhere[ssn.ledger.tasks.job[elsewhere] != task.job.row]
            namespace = f"namespace {task.job.namespace}"
            return wording.shares_keep(action, namespace, list(self.protections(task, elsewhere)))
        tasks, jobs = ssn.ledger.tasks, ssn.ledger.jobs
        lesser = (tasks.queue[held] == queue.slot) & (jobs.priority[tasks.job[held]] < task.job.priority)
        held = held[lesser]
        if not len(held):
            return wording.no_lesser_job(action, queue.name)
        count = len(np.unique(tasks.job[held]))
        return wording.lesser_jobs_keep(action, queue.name, count, list(self.protections(task, held)))

    # -- what both need --------------------------------------------------------------------------------------------

    def scarcest(self, task: Task) -> int:
        """The resource that the pod asks for of which the cluster has the fewest places left."""
        nodes, asked = self._ssn.ledger.nodes, task.task_class.request
        dims = [dim for dim in task.task_class.requested.tolist() if dim != PODS] or [PODS]
        idle = np.maximum(nodes.future_idle()[nodes.present], 0)
        scarcest: int = min(dims, key=lambda dim: int((idle[:, dim] // asked[dim]).sum()))
        return scarcest

    def _holders(self, dim: int) -> Rows:
        """Pods of jobs that hold some of a resource."""
        tasks, classes = self._ssn.ledger.tasks, self._ssn.ledger.classes
        return np.flatnonzero(
            EVICTABLE_STATUSES[tasks.status]
            & (tasks.job >= 0)
            & (tasks.queue >= 0)
            & (classes.request[tasks.task_class, dim] > 0)
        )

    def protections(self, task: Task, held: Rows) -> Iterator[Protection]:
        """What keeps these pods, each counted for the first that does; the most frequent first."""
        found = [each for each in self._all_protections(task, held) if each.pods]
        found.sort(key=lambda each: (-each.pods, each.by))
        yield from found[:_MOST_PROTECTIONS]

    def _all_protections(self, task: Task, held: Rows) -> Iterator[Protection]:
        ssn = self._ssn
        tasks, jobs = ssn.ledger.tasks, ssn.ledger.jobs
        if self._scheme.point == "reclaimable":
            closed = {queue.slot: queue.name for queue in ssn.queues.values() if not queue.reclaimable}
            is_closed = np.isin(tasks.queue[held], list(closed))
            names = sorted({closed[slot] for slot in tasks.queue[held[is_closed]].tolist()})
            yield Protection(int(is_closed.sum()), f"by queue {', '.join(names[:2])}, which is not reclaimable")
            held = held[~is_closed]
        says_yes = tasks.preemptable[held] & jobs.preemptable[tasks.job[held]]
        yield Protection(int((~says_yes).sum()), "by the annotation volcano.sh/preemptable")
        held = held[says_yes]
        for plugin, kept in ssn.ask.protected(self._scheme.point, task, held):
            yield Protection(len(kept), plugin.protected_by(kept))
            held = held[~np.isin(held, kept)]
        yield from self._gangs(held)

    def _gangs(self, held: Rows) -> Iterator[Protection]:
        """Pods that their gang needs, where it may not go whole."""
        gangs, jobs = self._pool.gangs, self._ssn.ledger.tasks.job
        needed = held[gangs.surplus()[jobs[held]] == 0]
        if not gangs.take_whole:
            yield Protection(
                len(needed), "by the minimums of their gangs, which may not go whole (allowWholeGangs: false)"
            )
            return
        stay = needed[~gangs.may_go_whole()[jobs[needed]]]
        why = "some of whose pods may not be evicted or are just starting"
        if gangs.rules.min_runtime:
            why = (
                "which have not run for the minimum time (minRuntime), "
                "or have pods that may not be evicted or are just starting"
            )
        yield Protection(len(stay), f"by their gangs, {why}")
