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
from volcano_py.state.table.table import Rows

_MOST: Final = 3


class Protections:
    """What keeps the pods `held` in one action from being evicted for the job of `task`.

    Attributes:
        most: what keeps most of them, each counted for the first that does; the most frequent first.
        free: [K] pods that nothing keeps.
    """

    def __init__(self, ssn: Session, pool: Candidates, scheme: Scheme, task: Task, held: Rows) -> None:
        self._ssn, self._gangs, self._point = ssn, pool.gangs, scheme.point
        self.free = held[np.argsort(pool.turn[held], kind="stable")]
        self._kept = np.zeros(ssn.ledger.jobs.size, dtype=np.bool_)
        """[J] jobs of which a plugin keeps pods."""
        found = [each for each in self._each(task) if each.pods]
        found.sort(key=lambda each: (-each.pods, each.by))
        self.most = found[:_MOST]

    def _each(self, task: Task) -> Iterator[Protection]:
        if self._point == "reclaimable":
            yield self._by_queues()
        tasks, jobs = self._ssn.ledger.tasks, self._ssn.ledger.jobs
        says_no = ~(tasks.preemptable[self.free] & jobs.preemptable[tasks.job[self.free]])
        yield Protection(self._take(self.free[says_no]), "by the annotation volcano.sh/preemptable")
        for plugin, kept in self._ssn.ask.protected(self._point, task, self.free):
            self._kept[tasks.job[kept]] = True
            yield Protection(self._take(kept), plugin.protected_by(kept))
        yield from self._by_gangs()

    def _by_queues(self) -> Protection:
        closed = {queue.slot: queue.name for queue in self._ssn.queues.values() if not queue.reclaimable}
        queues = self._ssn.ledger.tasks.queue[self.free]
        is_closed = np.isin(queues, list(closed))
        names = sorted({closed[slot] for slot in queues[is_closed].tolist()})
        whose = f"by {plural('queue', len(names))} {summarize(names, most=2)} (reclaimable: false)"
        return Protection(self._take(self.free[is_closed]), whose)

    def _by_gangs(self) -> Iterator[Protection]:
        """Pods that their gang needs, where it may not go whole."""
        gangs, jobs = self._gangs, self._ssn.ledger.tasks.job
        needed = self.free[gangs.surplus()[jobs[self.free]] == 0]
        if not gangs.take_whole:
            why = "by the minimums of their gangs, which may not be evicted whole (allowWholeGangs: false)"
            yield Protection(self._take(needed), why)
            return
        stays = ~gangs.could_go_whole() | self._kept
        why = "some of their pods may not be evicted or are just starting"
        yield Protection(self._take(needed[stays[jobs[needed]]]), f"by their gangs ({why})")
        is_young = ~stays & ~gangs.may_go_whole()
        young = needed[is_young[jobs[needed]]]
        if len(young):
            until = max(gangs.stays_until(row) for row in np.unique(jobs[young]).tolist())
            when = f"{datetime.fromtimestamp(until, tz=UTC):%H:%M} UTC"
            yield Protection(self._take(young), f"by minRuntime of their gangs until {when}")

    def _take(self, rows: Rows) -> int:
        """How many pods these are, which are free no longer."""
        self.free = self.free[~np.isin(self.free, rows)]
        return len(rows)
