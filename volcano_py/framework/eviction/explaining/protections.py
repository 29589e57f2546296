"""What keeps pods from being evicted for a job."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import numpy as np

from volcano_py.api.wording.explain_evictions import Protection
from volcano_py.api.wording.summarize import plural, summarize
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.scheme import Scheme
from volcano_py.framework.job import Task
from volcano_py.framework.session import Session
from volcano_py.state.status import EVICTABLE_STATUSES
from volcano_py.state.table.table import Rows

_MOST: Final = 3


class Protections:
    """What keeps the pods `held` in one action from being evicted for the job of `task`.

    Attributes:
        most: what keeps most of them, each counted for the first that keeps it or, in a gang that is evicted whole or
            not at all, another pod of it, whatever that holds; the most frequent first.
        free: [K] pods that nothing keeps.
    """

    def __init__(self, ssn: Session, pool: Candidates, scheme: Scheme, task: Task, held: Rows) -> None:
        self._ssn, self._gangs, self._point = ssn, pool.gangs, scheme.point
        self._turn = pool.turn
        self.free = held[np.argsort(pool.turn[held], kind="stable")]
        found = [each for each in self._each(task) if each.pods]
        found.sort(key=lambda each: (-each.pods, each.by))
        self.most = found[:_MOST]

    def _each(self, task: Task) -> Iterator[Protection]:
        if self._point == "reclaimable":
            yield self._by_queues()
        tasks, jobs = self._ssn.ledger.tasks, self._ssn.ledger.jobs
        leaving = self._leaving()
        says_no = ~(tasks.preemptable[leaving] & jobs.preemptable[tasks.job[leaving]])
        yield self._with_gangs(leaving[says_no], "by the annotation volcano.sh/preemptable")
        leaving = leaving[~says_no & np.isin(tasks.job[leaving], tasks.job[self.free])]
        for plugin, kept in self._ssn.ask.protected(self._point, task, leaving):
            yield self._with_gangs(kept, plugin.protected_by(kept))
        yield from self._by_gangs()

    def _leaving(self) -> Rows:
        """The free pods, and those that could only be evicted together with one of them."""
        if not self._gangs.take_whole:
            return self.free
        tasks = self._ssn.ledger.tasks
        is_needed = np.zeros(self._ssn.ledger.jobs.size, dtype=np.bool_)
        is_needed[tasks.job[self._needed()]] = True
        leaves = EVICTABLE_STATUSES[tasks.status] & (tasks.job >= 0) & is_needed[tasks.job]
        leaves[self.free] = True
        rows = np.flatnonzero(leaves)
        in_turn: Rows = rows[np.argsort(self._turn[rows], kind="stable")]
        return in_turn

    def _by_queues(self) -> Protection:
        closed = {queue.slot: queue.name for queue in self._ssn.queues.values() if not queue.reclaimable}
        queues = self._ssn.ledger.tasks.queue[self.free]
        is_closed = np.isin(queues, list(closed))
        names = sorted({closed[slot] for slot in queues[is_closed].tolist()})
        whose = f"by {plural('queue', len(names))} {summarize(names, most=2)} (reclaimable: false)"
        return Protection(self._take(self.free[is_closed]), whose)

    def _with_gangs(self, kept: Rows, by: str) -> Protection:
        """These pods, and those that could only be evicted together with one of them."""
        jobs = self._ssn.ledger.tasks.job
        itself = self._take(kept)
        needed = self._needed() if self._gangs.take_whole else self.free[:0]
        others = self._take(needed[np.isin(jobs[needed], jobs[kept])])
        return Protection(itself + others, f"{by}, as a gang is evicted whole or not at all" if others else by)

    def _needed(self) -> Rows:
        """Free pods of jobs that can give none by itself."""
        needed: Rows = self.free[self._gangs.surplus()[self._ssn.ledger.tasks.job[self.free]] == 0]
        return needed

    def _by_gangs(self) -> Iterator[Protection]:
        """Pods that their gang needs, where it may not go whole."""
        gangs, jobs, needed = self._gangs, self._ssn.ledger.tasks.job, self._needed()
        if not gangs.take_whole:
            why = "by the minimums of their gangs, which may not be evicted whole (allowWholeGangs: false)"
            yield Protection(self._take(needed), why)
            return
        starts = gangs.are_starting()
        why = "by their gangs (some of their pods are just starting)"
        yield Protection(self._take(needed[starts[jobs[needed]]]), why)
        could_go = gangs.could_go_whole()
        stays = ~could_go & ~starts
        why = "by their gangs (the eviction of some of their pods has just failed)"
        yield Protection(self._take(needed[stays[jobs[needed]]]), why)
        is_young = could_go & ~gangs.may_go_whole()
        young = needed[is_young[jobs[needed]]]
        if len(young):
            until = max(gangs.stays_until(row) for row in np.unique(jobs[young]).tolist())
            when = f"{datetime.fromtimestamp(until, tz=UTC):%H:%M} UTC"
            yield Protection(self._take(young), f"by minRuntime of their gangs until {when}")

    def _take(self, rows: Rows) -> int:
        """How many of these pods are free, and are so no longer."""
        before = len(self.free)
        self.free = self.free[~np.isin(self.free, rows)]
        return before - len(self.free)
