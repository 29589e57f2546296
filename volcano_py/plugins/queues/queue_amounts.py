"""What is charged to queues, and what their jobs ask for; callers sum it by queue, or up a tree of queues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.eviction.units import Unit
from volcano_py.framework.job import Placement
from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import saturated, sums_by_group
from volcano_py.plugins.queues.empty_nodes import EmptyNodes
from volcano_py.plugins.queues.inqueue_requests import InqueueRequests
from volcano_py.plugins.queues.useful_requests import UsefulRequests
from volcano_py.state.snapshot import Phase
from volcano_py.state.status import ALLOCATED_STATUSES, LEAVING_STATUSES, ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.axis import UNLIMITED
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import NOWHERE, Rows


class QueueAmounts(NamedTuple):
    """`amounts` [K, R] of the queues in `slots` [K], which may contain a queue many times."""

    slots: NDArray[np.int32]
    amounts: NDArray[np.int64]

    def sums(self, size: int) -> NDArray[np.int64]:
        """[size, R] by slot."""
        return sums_by_group(self.slots, self.amounts, size)


def allocated(ssn: Session) -> QueueAmounts:
    """What pods hold that are to stay."""
    return _charged(ssn, ssn.ledger.queues.allocated, ALLOCATED_STATUSES)


def leaving(ssn: Session) -> QueueAmounts:
    """What pods still hold that are leaving."""
    return _charged(ssn, ssn.ledger.queues.leaving, LEAVING_STATUSES)


def used(ssn: Session) -> QueueAmounts:
    """Both together: what counts for a ceiling until the pods are gone."""
    return _charged(ssn, ssn.ledger.queues.used(), ON_NODE_STATUSES)


def surplus(ssn: Session) -> QueueAmounts:
    """What jobs hold in their queues beyond their minResources."""
    rows, jobs = ssn.job_rows(), ssn.ledger.jobs
    return QueueAmounts(jobs.queue[rows], np.maximum(_held_in_own_queue(ssn)[rows] - jobs.min_resources[rows], 0))


def promised(ssn: Session, promises: InqueueRequests) -> QueueAmounts:
    """What admitted jobs may still claim."""
    rows = promises.rows
    return QueueAmounts(ssn.ledger.jobs.queue[rows], promises.outstanding(rows))


def units_by_queue(ledger: Ledger, unit: Unit) -> Iterator[tuple[int, list[int], list[int]]]:
    """What the pods of a unit request [R], and what of it is the core [R], by the slot of the queue that is charged."""
    tasks = ledger.tasks
    slots = tasks.queue[unit.rows]
    if (slots == slots[0]).all():  # as good as always: pods count where they were bound, jobs may be moved
        yield int(slots[0]), unit.request.tolist(), unit.core.tolist()
        return
    for slot in np.unique(slots).tolist():
        request = ledger.classes.request[tasks.task_class[unit.rows[slots == slot]]].sum(axis=0).tolist()
        yield slot, request, request


def pending(ssn: Session) -> QueueAmounts:
    """Requests of pending tasks, without those that are invalid."""
    tasks, rows = ssn.ledger.tasks, _pending_tasks(ssn)
    return QueueAmounts(ssn.ledger.jobs.queue[tasks.job[rows]], ssn.ledger.classes.request[tasks.task_class[rows]])


def startable(ssn: Session) -> QueueAmounts:
    """What of these requests is for pods that are not gated and that some node could take, if all were empty."""
    tasks, jobs, rows = ssn.ledger.tasks, ssn.ledger.jobs, _pending_tasks(ssn)
    rows = UsefulRequests(ssn, ssn.shared(EmptyNodes).room).startable(rows[~tasks.gated[rows]])
    return QueueAmounts(jobs.queue[tasks.job[rows]], ssn.ledger.classes.request[tasks.task_class[rows]])


def not_created(ssn: Session) -> QueueAmounts:
    """What waiting and admitted jobs ask for in minResources beyond what their pods hold and request."""
    jobs, tasks, rows = ssn.ledger.jobs, ssn.ledger.tasks, ssn.job_rows()
    rows = rows[jobs.has_min_resources[rows] & (jobs.phase[rows] != Phase.COMPLETED)]
    waiting = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
    requests = ssn.ledger.classes.request[tasks.task_class[waiting]]
    exists = saturated(jobs.allocated, sums_by_group(tasks.job[waiting], requests, jobs.size))
    return QueueAmounts(jobs.queue[rows], np.maximum(jobs.min_resources[rows] - exists[rows], 0))


def charged(ssn: Session, placement: Placement) -> Iterable[tuple[int, int]]:
    """The slots of the queues to which the tasks are charged, and how many to each.

    Tasks get places in the queue of their job. Those that are evicted may have been bound in another.
    """
    if placement.status is not TaskStatus.RELEASING:
        return ((placement.job.queue.slot, placement.count),)
    return Counter(ssn.ledger.tasks.queue[placement.rows].tolist()).items()


def _pending_tasks(ssn: Session) -> Rows:
    tasks, jobs = ssn.ledger.tasks, ssn.ledger.jobs
    rows = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
    found: Rows = rows[jobs.known[tasks.job[rows]] & ~ssn.hopeless_classes[tasks.task_class[rows]]]
    return found


def _charged(ssn: Session, amounts: NDArray[np.int64], statuses: NDArray[np.bool_]) -> QueueAmounts:
    """`amounts` [Q, R] by slot, which are those of the pods in these statuses; of each pod, if all together may exceed
    64 bits (see `sums_by_group`)."""
    tasks, requests = ssn.ledger.tasks, ssn.ledger.classes.request
    if float(requests.max(initial=0)) * tasks.size < float(UNLIMITED):
        return QueueAmounts(np.arange(len(amounts), dtype=np.int32), amounts)
    rows = np.flatnonzero((tasks.queue != NOWHERE) & statuses[tasks.status])
    return QueueAmounts(tasks.queue[rows], requests[tasks.task_class[rows]])


def _held_in_own_queue(ssn: Session) -> NDArray[np.int64]:
    """[J, R] what jobs hold, without their pods that were bound in another queue before the job was moved."""
    tasks, jobs = ssn.ledger.tasks, ssn.ledger.jobs
    rows = np.flatnonzero((tasks.job >= 0) & ALLOCATED_STATUSES[tasks.status])
    rows = rows[tasks.queue[rows] != jobs.queue[tasks.job[rows]]]
    if not len(rows):
        return jobs.allocated
    return jobs.allocated - sums_by_group(
        tasks.job[rows], ssn.ledger.classes.request[tasks.task_class[rows]], jobs.size
    )
