"""Opening the accounts: sums over all jobs and tasks by queue, and the division of the cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.session import Session
from volcano_py.plugins.promises import Promises
from volcano_py.plugins.proportion.account import QueueAccount
from volcano_py.plugins.proportion.water_filling import divide
from volcano_py.plugins.shares import sums_by_group
from volcano_py.state.infos import QueueInfo
from volcano_py.state.status import TaskStatus


def open_accounts(ssn: Session, promises: Promises) -> dict[str, QueueAccount]:
    """An account for every queue, by name. Only queues that have jobs take part in the division."""
    jobs = ssn.ledger.jobs
    rows = ssn.job_rows()
    slots, held = jobs.queue[rows], jobs.allocated[rows]
    names = list(ssn.queues)
    at = np.array([ssn.queues[name].slot for name in names], dtype=np.intp)
    size = len(ssn.snapshot.queue_names)
    allocated = sums_by_group(slots, held, size)[at]
    surplus = sums_by_group(slots, np.maximum(held - jobs.min_resources[rows], 0), size)[at]
    request = allocated + _pending_requests(ssn, size)[at]
    capability, guarantee, real_capability = _limits(list(ssn.queues.values()), ssn.total)
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
        real_capability,
        deserved,
        ceiling,
        allocated - surplus,
        surplus,
        inqueue_by_slot(ssn, promises)[at],
    )
    by_queue = zip(*(column.tolist() for column in columns), strict=True)
    return {name: QueueAccount(ssn.queues[name], *amounts) for name, amounts in zip(names, by_queue, strict=True)}


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


def _limits(
    queues: list[QueueInfo], total: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """[Q, R] capabilities, guarantees, and capabilities within what the guarantees of others leave of the cluster."""
    shape = (len(queues), len(total))
    capability = np.array([queue.capability for queue in queues], dtype=np.int64).reshape(shape)
    guarantee = np.array([queue.guarantee for queue in queues], dtype=np.int64).reshape(shape)
    guaranteed = sums_by_group(np.zeros(len(queues), dtype=np.intp), guarantee, 1)[0]
    left = np.maximum(total - guaranteed, 0)
    return capability, guarantee, np.minimum(left + guarantee, capability)
