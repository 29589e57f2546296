"""What jobs with sub-groups can give: surplus inside a sub-group, and whole sub-groups beyond those that they need.

All answers are of the moment in which they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.eviction.units import Unit
from volcano_py.framework.eviction.victims import expendable_first
from volcano_py.framework.job import Job
from volcano_py.framework.topology.sub_groups import SubGroups
from volcano_py.state.status import EVICTABLE_STATUSES, READY_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

Counts = NDArray[np.int64]
_NO_LIMIT: Final = np.iinfo(np.int64).max
_UNDER_WAY: Final = (TaskStatus.ALLOCATED, TaskStatus.PIPELINED, TaskStatus.BINDING)


class Divided:
    """See the module.

    Attributes:
        jobs: by row, those that have policies, with their sub-groups.
    """

    def __init__(self, ssn: Session, job_rows: Iterable[int], candidates: Rows) -> None:
        """`candidates` are the rows of all pods that may be victims at all."""
        self._tasks, self._requests = ssn.ledger.tasks, ssn.ledger.classes.request
        self._candidates = candidates
        infos = ((row, ssn.snapshot.jobs[row]) for row in job_rows)
        rows = (row for row, info in infos if info is not None and info.topology is not None)
        found = (job for row in rows if (job := ssn.job(row)) is not None)
        self.jobs: Mapping[int, tuple[Job, SubGroups]] = {
            job.row: (job, groups) for job in found if (groups := ssn.sub_groups(job)) is not None
        }

    def surplus(self, rows: Rows) -> Counts:
        """[K] how many pods the sub-group of each pod can give and stay complete."""
        surplus = np.full(len(rows), _NO_LIMIT, dtype=np.int64)
        jobs = self._tasks.job[rows] if self.jobs else rows
        for job_row, (_, groups) in self.jobs.items():
            mine = np.flatnonzero(jobs == job_row)
            if len(mine):
                spare = np.append(np.maximum(self._ready(groups) - groups.size, 0), _NO_LIMIT)
                surplus[mine] = spare[groups.group[np.searchsorted(groups.rows, rows[mine])]]
        return surplus

    def lacks_any(self, job_row: int) -> bool:
        """Whether the job has fewer complete sub-groups than one of its policies says."""
        if job_row not in self.jobs:
            return False
        _, groups = self.jobs[job_row]
        return bool(groups.lacking(self._ready(groups)).any())

    def units(self) -> Iterator[Unit]:
        """Sub-groups that may go by themselves: policies keep as many complete ones as they need, all their pods may be
        victims, and none is being bound or has a place promised."""
        for job, groups in self.jobs.values():
            held = EVICTABLE_STATUSES[self._tasks.status[groups.rows]]
            offered = held & np.isin(groups.rows, self._candidates)
            under_way = groups.count(np.isin(self._tasks.status[groups.rows], _UNDER_WAY))
            counts = groups.count(held)
            may_go = (counts > 0) & (groups.count(offered) == counts) & (under_way == 0) & self._is_beyond(groups)
            for at in np.flatnonzero(may_go).tolist():
                rows = expendable_first(self._tasks, groups.rows[held & (groups.group == at)])
                request = self._requests[self._tasks.task_class[rows]].sum(axis=0)
                yield Unit(job, rows, request, is_whole=False, core=request, sub_group=groups.names[at])

    def is_surplus(self, unit: Unit) -> bool:
        """Whether the policy of this sub-group keeps as many complete ones as it needs without it."""
        _, groups = self.jobs[unit.job.row]
        return bool(self._is_beyond(groups)[groups.names.index(unit.sub_group)])

    def _is_beyond(self, groups: SubGroups) -> NDArray[np.bool_]:
        """[G] sub-groups without which their policy has its minimum. What is not complete does not count for it."""
        complete = self._ready(groups) >= groups.size
        minimum = np.array([policy.minimum for policy in groups.policies], dtype=np.int64)
        beyond = np.bincount(groups.policy[complete], minlength=len(minimum)) - minimum
        is_beyond: NDArray[np.bool_] = ~complete | (beyond > 0)[groups.policy]
        return is_beyond

    def _ready(self, groups: SubGroups) -> Counts:
        """[G] how many pods of each count as ready."""
        return groups.count(READY_STATUSES[self._tasks.status[groups.rows]])
