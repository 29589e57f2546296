"""What tasks count for against the ceilings of queues: what they ask of nodes, and devices of ResourceClaims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.devices.requests import DeviceRequests, SharedClaim
from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.sparse_requests import RequestsByClass, SparseRequest, asked_together
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass


class Asked(NamedTuple):
    """`units` count for each task, `shared` once for all tasks that use the claim. `is_certain`: the tasks get as much
    when they are placed, and not less."""

    units: SparseRequest
    shared: tuple[SharedClaim, ...] = ()
    is_certain: bool = True


class Requests:
    """By class of tasks.

    Attributes:
        dims: positions on the resource axis of the devices that queues limit; none if queues are held to no such limit.
    """

    def __init__(self, ssn: Session, *, with_devices: bool) -> None:
        self._ssn = ssn
        self._devices = ssn.shared(DeviceRequests)
        self.dims = tuple(self._devices.dims.values()) if with_devices else ()
        self._plain = RequestsByClass()
        self._known: dict[int, Asked] = {}

    def __getitem__(self, task_class: TaskClass) -> Asked:
        asked = self._known.get(task_class.row)
        if asked is None:
            asked = self._known[task_class.row] = self._asked(task_class)
        return asked

    def together(self, tasks: Rows) -> Asked:
        """What the tasks count for in all."""
        plain = asked_together(self._ssn.ledger, tasks)
        if not self.dims:
            return Asked(plain)
        of_devices = [self._devices[self._ssn.task_class(row)] for row in tasks.tolist()]
        own: Counter[int] = Counter()
        for each in of_devices:
            own.update(dict(each.own))
        return Asked((*plain, *own.items()), _distinct(claim for each in of_devices for claim in each.shared))

    def least_devices(self, job: Job) -> Asked:
        """The fewest devices with which the pods of the job that exist can become a gang."""
        if not self.dims:
            return Asked(())
        tasks, rows = self._ssn.ledger.tasks, self._ssn.tasks_of(job)
        waiting = rows[tasks.status[rows] == TaskStatus.PENDING]
        needed = min(max(job.info.min_member, 1) - job.ready, len(waiting))
        if needed <= 0:
            return Asked(())
        found, counts = np.unique(tasks.task_class[waiting], return_counts=True)
        kinds = [self._devices[self._of_row(row)] for row in found.tolist()]
        units = ((dim, _least([dict(each.own).get(dim, 0) for each in kinds], counts, needed)) for dim in self.dims)
        first, *others = [each.shared for each in kinds]
        shared = tuple(claim for claim in first if all(claim in each for each in others))
        return Asked(tuple(each for each in units if each[1]), shared)

    def _of_row(self, row: int) -> TaskClass:
        found = self._ssn.snapshot.classes[row]
        assert found is not None, "a task without a class"
        return found

    def _asked(self, task_class: TaskClass) -> Asked:
        plain = self._plain[task_class]
        if not self.dims:
            return Asked(plain)
        devices = self._devices[task_class]
        return Asked((*plain, *devices.own), devices.shared, devices.is_certain)


def _distinct(claims: Iterable[SharedClaim]) -> tuple[SharedClaim, ...]:
    return tuple({each.claim: each for each in claims}.values())


def _least(units: Sequence[int], counts: NDArray[np.intp], needed: int) -> int:
    """The sum of the least `needed`, where so many tasks (`counts`) ask for that many units each."""
    return int(np.sort(np.repeat(units, counts))[:needed].sum())
