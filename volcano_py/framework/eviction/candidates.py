"""Which pods may be victims: filters as columns, before any plugin is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.eviction.gangs import Gangs
from volcano_py.framework.eviction.units import UnitRules
from volcano_py.framework.job import Task
from volcano_py.state.infos import JobInfo
from volcano_py.state.status import EVICTABLE_STATUSES, TaskStatus
from volcano_py.state.table.runs import starts_of_runs
from volcano_py.state.table.table import Rows

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


RIPE_AFTER: Final = 1.0
"""Seconds until pods that are still to be bound are looked at again. Their binding wakes no cycle, as it changes no
other decision."""


class Candidates:
    """Pods with a PodGroup that are charged to a queue and do not say `volcano.sh/preemptable: "false"`, nor does their
    PodGroup; but for those whose eviction failed a moment ago.

    All answers are sorted by node, and on each node in the order in which pods of one queue would go: those of the
    lowest job priority and the newest job first, and of a job the lowest priority, the youngest, the last by number.

    Attributes:
        gangs: what the jobs of these pods can give.
        turn: [T] the place of each in this order, whatever its node.
        choices_asked: how many choices of them plugins were asked about, of all that there are (few_choices.py).
        retries: how many searches were repeated with a unit put off (replacement.py).
    """

    def __init__(self, ssn: Session, rules: UnitRules) -> None:
        self._ssn = ssn
        tasks, jobs = ssn.ledger.tasks, ssn.ledger.jobs
        has_queue = np.zeros(jobs.size, dtype=np.bool_)
        has_queue[ssn.job_rows()] = True
        rows = np.flatnonzero(tasks.preemptable & (tasks.job >= 0) & (tasks.retry_at <= ssn.now))
        of_job = tasks.job[rows]
        rows = rows[has_queue[of_job] & jobs.preemptable[of_job] & ssn.is_queue(tasks.queue[rows])]
        self._coming = rows[tasks.status[rows] == TaskStatus.BINDING]
        rows = rows[EVICTABLE_STATUSES[tasks.status[rows]]]
        self.gangs = Gangs(ssn, rules, rows)
        rows = rows[self._order(rows)]
        self.turn = np.zeros(tasks.size, dtype=np.int64)
        self.turn[rows] = np.arange(len(rows))
        self._rows = rows[np.argsort(tasks.node[rows], kind="stable")]
        self._reclaimable = np.zeros(len(ssn.snapshot.queue_names), dtype=np.bool_)
        self._reclaimable[[queue.slot for queue in ssn.queues.values() if queue.reclaimable]] = True
        self._of_queue: dict[int, Rows] = {}
        self._of_others: dict[int, Rows] = {}
        self._left: dict[int, tuple[int, Rows, Rows]] = {}
        """Of an array of candidates: how often anything had moved, the array, and those that held their places then."""
        self.choices_asked = self.retries = 0

    def evictable(self) -> Rows:
        """All that still hold their places."""
        return self._rows[EVICTABLE_STATUSES[self._ssn.ledger.tasks.status[self._rows]]]

    def in_queue(self, task: Task) -> Rows:
        """Bound or running pods of the other jobs of the preemptor's queue."""
        slot = task.job.queue.slot
        rows = self._of_queue.get(slot)
        if rows is None:
            rows = self._of_queue[slot] = self._rows[self._queues(self._rows) == slot]
            self._wait_for(self._coming[self._queues(self._coming) == slot])
        if not task.job.allocated_tasks:
            return self._still(rows, task)
        return self._still(rows[self._ssn.ledger.tasks.job[rows] != task.job.row], task)

    def in_job(self, task: Task) -> Rows:
        """Bound or running pods of the preemptor's own job."""
        return self._still(self._rows[self._ssn.ledger.tasks.job[self._rows] == task.job.row], task)

    def in_other_queues(self, task: Task) -> Rows:
        """Bound or running pods of other queues that let others reclaim from them."""
        slot = task.job.queue.slot
        rows = self._of_others.get(slot)
        if rows is None:
            rows = self._of_others[slot] = self._rows[self._may_give(self._rows, slot)]
            self._wait_for(self._coming[self._may_give(self._coming, slot)])
        return self._still(rows, task)

    def spares(self, rows: Rows) -> Rows:
        """Those of the rows (placed in this cycle) that say they may be evicted."""
        tasks, jobs = self._ssn.ledger.tasks, self._ssn.ledger.jobs
        return rows[tasks.preemptable[rows] & jobs.preemptable[tasks.job[rows]]]

    def _may_give(self, rows: Rows, slot: int) -> NDArray[np.bool_]:
        """[K] pods whose queue can be asked to give to the queue in that slot."""
        queues = self._queues(rows)
        gives: NDArray[np.bool_] = (queues != slot) & self._reclaimable[queues]
        return gives

    def _wait_for(self, rows: Rows) -> None:
        """Their pods may be victims a moment later."""
        if len(rows):
            self._ssn.wakeups.recheck_at(self._ssn.now + RIPE_AFTER)

    def _queues(self, rows: Rows) -> NDArray[np.int32]:
        return self._ssn.ledger.tasks.queue[rows]

    def _still(self, rows: Rows, task: Task) -> Rows:
        """Those that still hold their places. For a pod that asks for nothing only its like is evicted."""
        left = self._still_there(rows)
        if not task.task_class.best_effort:
            return left
        return left[self._ssn.best_effort_classes[self._ssn.ledger.tasks.task_class[left]]]

    def _still_there(self, rows: Rows) -> Rows:
        """Those that still hold their places: the same array, which cannot be written to, until anything moves."""
        moved = self._ssn.moves.count
        known = self._left.get(id(rows))
        if known is None or known[0] != moved or known[1] is not rows:
            left = rows[EVICTABLE_STATUSES[self._ssn.ledger.tasks.status[rows]]]
            left.setflags(write=False)
            known = self._left[id(rows)] = moved, rows, left
        return known[2]

    # -- order -----------------------------------------------------------------------------------------------------

    def _order(self, rows: Rows) -> Rows:
        tasks, of_job = self._ssn.ledger.tasks, self._ssn.ledger.tasks.job[rows]
        keys = (
            tasks.tiebreak[rows],
            -tasks.suffix[rows],
            -tasks.created[rows],
            tasks.priority[rows],
            self._age_ranks(rows)[of_job],
            self._ssn.ledger.jobs.priority[of_job],
        )
        return np.lexsort(keys)

    def _age_ranks(self, rows: Rows) -> NDArray[np.int64]:
        """[J] the place of each job, the newest first. Jobs of one moment go by the number at the end of their name,
        the highest first; those of one number, too, by name, the last first."""
        jobs, infos = self._ssn.ledger.jobs, self._ssn.snapshot.jobs
        found = np.unique(self._ssn.ledger.tasks.job[rows])
        found = found[np.lexsort((-jobs.suffix[found], -jobs.created[found]))]
        differs = (np.diff(jobs.created[found], prepend=0) != 0) | (np.diff(jobs.suffix[found], prepend=0) != 0)
        starts = starts_of_runs(np.cumsum(differs))
        lengths = np.diff(starts, append=len(found))
        for start, length in zip(starts[lengths > 1].tolist(), lengths[lengths > 1].tolist(), strict=True):
            equal = found[start : start + length].tolist()
            found[start : start + length] = sorted(equal, key=lambda row: _names(infos[row]), reverse=True)
        ranks = np.zeros(jobs.size, dtype=np.int64)
        ranks[found] = np.arange(len(found))
        return ranks


def _names(info: JobInfo | None) -> tuple[str, str, str]:
    assert info is not None, "candidates have a PodGroup"
    return info.name, info.ref.name, info.ref.namespace
