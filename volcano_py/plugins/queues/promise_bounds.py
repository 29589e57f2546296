"""Which promises do not count against a job: to pods that no node could take, and beyond the part of their namespace.

A namespace's part of its queue (see `queue_parts`) follows from the weights of the namespaces that have jobs there. A
job that stays within its namespace's part need not wait for promises beyond the parts of others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import sums_by_group
from volcano_py.plugins.queues.empty_nodes import EmptyNodes
from volcano_py.plugins.queues.queue_parts import parts_of_queues
from volcano_py.plugins.queues.useful_requests import UsefulRequests
from volcano_py.state.snapshot import Phase
from volcano_py.state.table.axis import PODS
from volcano_py.state.table.table import Rows

Amounts = NDArray[np.int64]


class PromiseBounds:
    """The promises of one moment by side, which is a namespace in a queue; `add` keeps them up to date."""

    def __init__(self, ssn: Session, rows: Rows, promised: Amounts) -> None:
        """`promised` [K, R]: what the jobs in `rows` [K] are promised."""
        self._ssn = ssn
        jobs = ssn.ledger.jobs
        active = ssn.job_rows()
        active = active[jobs.phase[active] != Phase.COMPLETED]
        pairs = np.stack((jobs.queue[active], jobs.namespace[active]), axis=1)
        sides, places = np.unique(pairs, axis=0, return_inverse=True)
        self._queues = sides[:, 0].astype(np.intp)
        self._side_of = np.full(jobs.size, -1, dtype=np.intp)
        self._side_of[active] = places.reshape(-1)
        size, slots = len(sides), len(ssn.snapshot.queue_names)
        self._parts = _parts(ssn, sides)
        self._held = sums_by_group(self._side_of[active], jobs.allocated[active], size)
        self._useful = UsefulRequests(ssn, ssn.shared(EmptyNodes).room_if_ready)
        self._asked: tuple[int, Amounts] | None = None
        """The row of the job asked for last, and the answer: each plugin that votes on it asks."""
        useful = self._useful.of(rows, promised)
        is_active = self._side_of[rows] >= 0
        self._promised = sums_by_group(self._side_of[rows[is_active]], useful[is_active], size)
        self._useless = sums_by_group(jobs.queue[rows], promised - useful, slots)
        self._all = sums_by_group(jobs.queue[rows], promised, slots)
        self._beyond = self._promised - np.clip(self._parts - self._held, 0, self._promised)
        self._beyond_by_queue = sums_by_group(self._queues, self._beyond, slots)

    def add(self, row: int, promised: Amounts) -> None:
        """The job in this row was admitted."""
        self._asked = None
        side, queue = self._side_of[row], self._ssn.ledger.jobs.queue[row]
        useful = self._useful.of_one(row, promised)
        before = self._beyond[side].copy()
        self._promised[side] += useful
        within = np.clip(self._parts[side] - self._held[side], 0, self._promised[side])
        self._beyond[side] = self._promised[side] - within
        self._beyond_by_queue[queue] += self._beyond[side] - before
        self._useless[queue] += promised - useful
        self._all[queue] += promised

    def asked(self, job: Job) -> Amounts:
        """[R] of the minResources of a job that waits for admission, what is for pods that some node could take."""
        assert job.min_resources is not None, "jobs without minResources are not asked about"
        if self._asked is None or self._asked[0] != job.row:
            self._asked = job.row, self._useful.of_one(job.row, job.min_resources)
        return self._asked[1]

    def without_effect(self, job: Job, queues: Rows | None = None) -> list[int]:
        """[R] how much of the promises of these queues, or of all, does not count against `job`."""
        if self._ssn.promise_times.are_ignored:
            return _sum(self._all, queues)
        side = int(self._side_of[job.row])
        found = _sum(self._useless, queues)
        if side < 0 or not self._stays_within_part(job, side):
            return found
        is_own_counted = queues is None or bool((queues == self._queues[side]).any())
        own = self._beyond[side].tolist() if is_own_counted else [0] * len(found)
        beyond = _sum(self._beyond_by_queue, queues)
        return [useless + more - mine for useless, more, mine in zip(found, beyond, own, strict=True)]

    def _stays_within_part(self, job: Job, side: int) -> bool:
        asked = self.asked(job)
        fits = self._held[side] + self._promised[side] + asked <= self._parts[side]
        matters = asked > 0
        matters[PODS] = False
        return bool(fits[matters].all())


def _sum(by_queue: Amounts, queues: Rows | None) -> list[int]:
    amounts = by_queue if queues is None else by_queue[queues]
    summed: list[int] = amounts.sum(axis=0).tolist()
    return summed


def _parts(ssn: Session, sides: NDArray[np.int32]) -> Amounts:
    """[S, R] the part of the cluster that each side may hold without asking others."""
    queues, places = np.unique(sides[:, 0], return_inverse=True)
    of_queues = parts_of_queues(ssn, queues.tolist())[places.reshape(-1)]
    weights = ssn.snapshot.namespace_weights
    own = np.array([float(weights.get(ssn.snapshot.namespaces[slot], 1)) for slot in sides[:, 1].tolist()])
    together = np.bincount(places.reshape(-1), weights=own)[places.reshape(-1)]
    parts: Amounts = np.floor(of_queues * (own / together)[:, None]).astype(np.int64)
    return parts
