"""What evictions could free for a job that waits for admission: an upper bound.

The pods of a job are often created only once it is admitted, and a job without pods can take nothing. In a full cluster
it would wait without end for what it is due. So the votes on enqueue count as free what reclaim and preempt could take
for the job, where those actions are configured. If nothing comes of it in time, the job loses its promise again
(`PromiseTimes`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.eviction.starving import RECLAIMING
from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import sums_by_group
from volcano_py.state.status import TaskStatus

Amounts = NDArray[np.int64]
Estimate = Callable[[Job, list[int]], list[int]]
"""A job that its queue's owner is asked about, and what it asks for → [R] what other queues could give for it."""

_PREEMPTING: Final = frozenset({"preempt", "gangpreempt"})


class Takings:
    """One for all plugins that vote on a job."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        actions = set(ssn.configuration.actions)
        self._preempts, self._reclaims = bool(actions & _PREEMPTING), bool(actions & RECLAIMING)
        self._owners: list[Estimate] = []
        self._evictable: Amounts | None = None
        self._of_lesser: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        self._relying: set[int] = set()
        self._nothing = [0] * len(ssn.axis)

    def let_owner_estimate(self, estimate: Estimate) -> None:
        """The plugin that owns the queues says what reclaim could take. Of several the least holds."""
        self._owners.append(estimate)

    def of(self, job: Job, asked: list[int]) -> list[int]:
        """[R] what could be freed in the cluster for a job that asks for so much [R]."""
        reclaimed = self._nothing
        if self._reclaims and self._owners:
            estimates = [estimate(job, asked) for estimate in self._owners]
            reclaimed = [min(amounts) for amounts in zip(*estimates, strict=True)]
        return [more + less for more, less in zip(reclaimed, self._held_by_lesser(job)[0], strict=True)]

    def in_queue(self, job: Job) -> list[int]:
        """[R] what could be freed of what the job's queue is charged with, within the minResources of its jobs."""
        return self._held_by_lesser(job)[1]

    def rely(self, job: Job) -> None:
        """A vote admits the job only because of what it could take."""
        self._relying.add(job.row)

    def admitted(self, job: Job) -> None:
        """The job was admitted. If a vote relied on what it could take, its promise is bounded."""
        if job.row in self._relying:
            self._ssn.promise_times.rely(job)

    def _held_by_lesser(self, job: Job) -> tuple[list[int], list[int]]:
        """[R] what jobs of lower priority hold in the job's queue of pods that may go; within their minResources."""
        if not self._preempts:
            return self._nothing, self._nothing
        key = job.queue.slot, job.priority
        found = self._of_lesser.get(key)
        if found is None:
            jobs, evictable = self._ssn.ledger.jobs, self._evictable_by_job()
            lesser = (jobs.queue == key[0]) & (jobs.priority < key[1]) & jobs.known & jobs.preemptable
            held = evictable[lesser]
            firm = np.minimum(held, jobs.min_resources[lesser])
            found = self._of_lesser[key] = held.sum(axis=0).tolist(), firm.sum(axis=0).tolist()
        return found

    def _evictable_by_job(self) -> Amounts:
        """[J, R] what jobs hold in their queues of pods that may be evicted."""
        if self._evictable is None:
            tasks, jobs = self._ssn.ledger.tasks, self._ssn.ledger.jobs
            holds = (tasks.status == TaskStatus.RUNNING) | (tasks.status == TaskStatus.BOUND)
            rows = np.flatnonzero(holds & (tasks.job >= 0) & tasks.preemptable)
            rows = rows[tasks.queue[rows] == jobs.queue[tasks.job[rows]]]
            requests = self._ssn.ledger.classes.request[tasks.task_class[rows]]
            self._evictable = sums_by_group(tasks.job[rows], requests, jobs.size)
        return self._evictable
