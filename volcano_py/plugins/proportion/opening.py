"""Opening the accounts: sums over all jobs and tasks by queue, and the division of the cluster."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.session import Session
from volcano_py.plugins.guarantees import Amounts, Kept, by_age, keep
from volcano_py.plugins.promises import Promises
from volcano_py.plugins.proportion.account import QueueAccount
from volcano_py.plugins.proportion.water_filling import divide
from volcano_py.plugins.shares import sums_by_group
from volcano_py.state.infos import QueueInfo
from volcano_py.state.status import TaskStatus


class Accounts(msgspec.Struct, frozen=True, eq=False):
    """The accounts of all queues.

    Attributes:
        by_name: every queue's.
        infos: None for the cluster, then every queue, as in the rows of `kept`.
        kept: what is kept of their guarantees.
    """

    by_name: dict[str, QueueAccount]
    infos: tuple[QueueInfo | None, ...]
    kept: Kept


def open_accounts(ssn: Session, promises: Promises) -> Accounts:
    """An account for every queue. Only queues that have jobs take part in the division."""
    jobs = ssn.ledger.jobs
    rows = ssn.job_rows()
    slots, held = jobs.queue[rows], jobs.allocated[rows]
    names = list(ssn.queues)
    at = np.array([ssn.queues[name].slot for name in names], dtype=np.intp)
    size = len(ssn.snapshot.queue_names)
    allocated = sums_by_group(slots, held, size)[at]
    surplus = sums_by_group(slots, np.maximum(held - jobs.min_resources[rows], 0), size)[at]
    request = allocated + _pending_requests(ssn, size)[at]
    infos = (None, *ssn.queues.values())
    capability, kept, real_capability = _limits(infos, ssn.total)
    guarantee = kept.own[1:]
    deserved = np.zeros(allocated.shape)
    ceiling = np.zeros_like(allocated)
    busy = np.flatnonzero(np.isin(at, slots))
    weights = [ssn.queues[names[position]].weight for position in busy.tolist()]
    division = divide(ssn.total, weights, guarantee[busy], np.minimum(request, real_capability)[busy])
    deserved[busy], ceiling[busy] = division.exact, division.whole
    columns = (
        allocated,
        request,
        capability,
        guarantee,
        real_capability,
        deserved,
        ceiling,
        allocated - surplus,
        surplus,
        inqueue_by_slot(ssn, promises)[at],
    )
    by_queue = zip(*(column.tolist() for column in columns), strict=True)
    by_name = {name: QueueAccount(ssn.queues[name], *amounts) for name, amounts in zip(names, by_queue, strict=True)}
    return Accounts(by_name, infos, kept)


def inqueue_by_slot(ssn: Session, promises: Promises) -> NDArray[np.int64]:
    """[slots, R] what the jobs of each queue that were let in may still claim."""
    rows = np.concatenate((promises.inqueue, promises.running))
    return sums_by_group(ssn.ledger.jobs.queue[rows], promises.outstanding(rows), len(ssn.snapshot.queue_names))


def _pending_requests(ssn: Session, size: int) -> NDArray[np.int64]:
    """[size, R] by queue slot; without pods that can never be placed, which would keep a share from others in vain."""
    tasks, jobs = ssn.ledger.tasks, ssn.ledger.jobs
    rows = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
    rows = rows[jobs.known[tasks.job[rows]] & ~ssn.hopeless_classes[tasks.task_class[rows]]]
    requests = ssn.ledger.classes.request[tasks.task_class[rows]]
    return sums_by_group(jobs.queue[tasks.job[rows]], requests, size)


def _limits(infos: Sequence[QueueInfo | None], total: Amounts) -> tuple[Amounts, Kept, Amounts]:
    """[Q, R] capabilities, what is kept of the guarantees (with a row for the cluster before), and capabilities within
    what the guarantees of others leave of the cluster."""
    queues = [info for info in infos if info is not None]
    ceilings = np.array([total, *(queue.capability for queue in queues)], dtype=np.int64)
    guarantee = np.array([np.zeros_like(total), *(queue.guarantee for queue in queues)], dtype=np.int64)
    up = np.zeros(len(infos), dtype=np.intp)
    up[0] = -1
    kept = keep(guarantee, _with_sum(guarantee), ceilings, up, lambda: by_age(infos))
    left = np.maximum(total - _with_sum(kept.own)[0], 0)
    capability = ceilings[1:]
    return capability, kept, np.minimum(left + kept.own[1:], capability)


def _with_sum(amounts: Amounts) -> Amounts:
    """The same with the sum of all in the first row."""
    together = amounts.copy()
    together[0] = sums_by_group(np.zeros(len(amounts), dtype=np.intp), amounts, 1)[0]
    return together
