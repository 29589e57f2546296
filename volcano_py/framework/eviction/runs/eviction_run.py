"""One run of preempt or reclaim: what is done for one starving job after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.deadlocks import Deadlocks
from volcano_py.framework.eviction.explaining.causes import Causes
from volcano_py.framework.eviction.plan import EvictionPlan
from volcano_py.framework.eviction.runs.futile import Futile
from volcano_py.framework.eviction.scheme import Scheme
from volcano_py.framework.eviction.starving import Starving, allocate_follows
from volcano_py.framework.session import Session
from volcano_py.state.table.table import Rows


class EvictionRun:
    """See the module. `by_queue` are all jobs that starve."""

    def __init__(
        self, ssn: Session, pool: Candidates, scheme: Scheme, by_queue: Mapping[str, Iterable[Starving]]
    ) -> None:
        self._ssn, self._pool, self._scheme = ssn, pool, scheme
        self._deadlocks = Deadlocks(ssn, pool, scheme, by_queue)
        self._causes = Causes(ssn, pool, scheme, self._deadlocks)
        self._allocate_follows = allocate_follows(ssn, scheme.action)
        self._futile = Futile(ssn, holds_places=self._allocate_follows)

    def evict_for(self, work: Starving) -> None:
        """Evict for the job, if it still starves, or note why nothing was evicted."""
        if not self._ssn.ask.job_starving(work.job):
            return
        if work not in self._futile:
            plan = EvictionPlan(self._ssn, self._pool, self._scheme, work.job)
            if plan.carry_out(work.tasks, keep_without_victims=not self._allocate_follows):
                self._futile.clear()
            if not plan.found_nothing:
                return
            self._futile.add(work)
        if self._deadlocks.resolve(work):
            self._futile.clear()
        else:
            self._causes.note(work.job, work.tasks)

    def evict_within(self, work: Starving, rows: Rows, scheme: Scheme) -> bool:
        """Evict for these tasks of the job by a scheme for its own pods. Whether that was done."""
        if not work.job.allocated_tasks and not self._allocate_follows:
            return False  # it has none to evict, and no place is held for allocate
        plan = EvictionPlan(self._ssn, self._pool, scheme, work.job)
        if not plan.carry_out(rows, keep_without_victims=False):
            return False
        self._futile.clear()
        return True
