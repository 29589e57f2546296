"""Shares of namespaces: what a namespace holds in one queue, over its weight.

The weight comes from ResourceQuotas of the namespace (`spec.hard["volcano.sh/namespace.weight"]`) and is the same in
every queue. Usage is not: a namespace that holds much in one queue is not passed over in another, which divides its own
part of the cluster.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.report import NamespaceShare
from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import dominant_share, sums_by_group
from volcano_py.plugins.drf.job_shares import JobShares, largest_part
from volcano_py.state.infos import QueueInfo
from volcano_py.state.table.axis import IntVector


class NamespaceShares:
    """One account for each namespace in each queue where it has jobs.

    Attributes:
        of_job: [J] the account of a job by its row, -1 for rows without a job.
        held: [A, R] what its jobs hold.
        bases: [A, R] the cluster times the weight. One division makes a share of it, so equal shares are equal floats;
            shares over weights would differ by how they were rounded.
    """

    def __init__(self, ssn: Session, jobs: JobShares) -> None:
        table, rows = ssn.ledger.jobs, ssn.job_rows()
        pairs = np.stack((table.queue[rows], table.namespace[rows]), axis=1)
        accounts, places = np.unique(pairs, axis=0, return_inverse=True)
        places = places.reshape(-1)
        names = [ssn.snapshot.namespaces[namespace] for namespace in accounts[:, 1].tolist()]
        self._account = {
            (slot, name): account
            for account, (slot, name) in enumerate(zip(accounts[:, 0].tolist(), names, strict=True))
        }
        self.of_job = np.full(table.size, -1, dtype=np.intp)
        self.of_job[rows] = places
        self.held = sums_by_group(places, jobs.held[rows], len(accounts))
        weights = np.array([ssn.snapshot.namespace_weights.get(name, 1) for name in names], dtype=np.float64)
        self.bases: NDArray[np.float64] = weights[:, np.newaxis] * jobs.total
        self._bases: list[list[float]] = self.bases.tolist()

    def share(self, queue: QueueInfo, namespace: str) -> float:
        """Share over weight; 0 for a namespace without jobs in the queue."""
        account = self._account.get((queue.slot, namespace))
        return 0.0 if account is None else self.share_of(account, self.held[account])

    def share_of(self, account: int, held: IntVector) -> float:
        """The account's share over weight if it held so much [R]."""
        return largest_part(held, self._bases[account])

    def book(self, job: Job, amount: IntVector) -> None:
        """The job holds `amount` [R] more, or less where it is negative."""
        self.held[self.of_job[job.row]] += amount


def shares_of_namespaces(ssn: Session, jobs: JobShares) -> dict[str, NamespaceShare]:
    """Namespace → what its jobs hold in all queues together."""
    rows, names = ssn.job_rows(), ssn.snapshot.namespaces
    numbers = ssn.ledger.jobs.namespace[rows]
    shares = dominant_share(sums_by_group(numbers, jobs.held[rows], len(names)), jobs.total)
    weights = ssn.snapshot.namespace_weights
    with_jobs = np.flatnonzero(np.bincount(numbers, minlength=len(names)))
    return {
        names[number]: NamespaceShare(float(shares[number]), float(weights.get(names[number], 1)))
        for number in with_jobs.tolist()
    }
