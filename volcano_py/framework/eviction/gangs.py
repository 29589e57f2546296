"""What jobs can give one pod at a time, and which may go whole.

All answers are of the moment in which they are asked for.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.eviction.divided import Divided
from volcano_py.framework.eviction.units import Unit, UnitRules
from volcano_py.framework.eviction.victims import expendable_first
from volcano_py.framework.job import Job
from volcano_py.framework.roles import role_minimums
from volcano_py.state.status import EVICTABLE_STATUSES, READY_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]

_READY: Final = np.flatnonzero(READY_STATUSES)
_HELD: Final = np.flatnonzero(EVICTABLE_STATUSES)
_UNDER_WAY: Final = (TaskStatus.ALLOCATED, TaskStatus.PIPELINED, TaskStatus.BINDING)
NO_LIMIT: Final = np.iinfo(np.int64).max


class Gangs:
    """The minimums of jobs, as far as the configuration holds them against victims.

    Attributes:
        rules: what the configuration says.
    """

    def __init__(self, ssn: Session, rules: UnitRules, candidates: Rows) -> None:
        """`candidates` are the rows of all pods that may be victims at all."""
        self._ssn = ssn
        self.rules = rules
        self._tasks, self._jobs = ssn.ledger.tasks, ssn.ledger.jobs
        self._candidates = candidates
        found = np.unique(self._tasks.job[candidates])
        in_parts = found[self._jobs.has_parts[found]].tolist()
        infos = ((row, ssn.snapshot.jobs[row]) for row in in_parts)
        self._roles = {
            row: dict(minimums) for row, info in infos if info is not None and (minimums := role_minimums(info))
        }
        """Job row → its minimums by role; only jobs that have any."""
        self._numbers = {name: number for number, name in enumerate(ssn.snapshot.roles)} if self._roles else {}
        self._divided = Divided(ssn, in_parts if rules.minimums else (), candidates)
        self._complete_since: dict[int, float] = {}

    @property
    def take_whole(self) -> bool:
        """Whether jobs may go whole at all."""
        return self.rules.minimums and self.rules.whole

    # -- one pod at a time -----------------------------------------------------------------------------------------

    def surplus(self) -> Counts:
        """[J] how many pods each job can give, one after the other, and keep its minimum."""
        ready = self._jobs.counts[:, _READY].sum(axis=1)
        surplus: Counts = np.maximum(ready - self._minimums(), 0)
        return surplus

    def _minimums(self) -> Counts:
        """[J]"""
        return self._jobs.min_member if self.rules.minimums else np.zeros_like(self._jobs.min_member)

    def surplus_of_roles(self, rows: Rows) -> Counts:
        """[K] how many pods the role of each pod can give and keep its minimum."""
        spare = np.full(len(rows), NO_LIMIT, dtype=np.int64)
        if not self._roles or not self.rules.minimums:
            return spare
        jobs, roles = self._tasks.job[rows], self._tasks.role[rows]
        for job_row in np.unique(jobs).tolist():
            for name, minimum in self._roles.get(job_row, {}).items():
                number = self._numbers.get(name, -1)
                of_role = (jobs == job_row) & (roles == number)
                spare[of_role] = max(self._ready_in_role(job_row, number) - minimum, 0)
        return spare

    def can_spare(self, row: int) -> bool:
        """Whether the job of this pod, its role and its sub-group keep their minimums without it."""
        job_row, rows = int(self._tasks.job[row]), np.array([row], dtype=np.intp)
        if not self.rules.minimums:
            return True
        if self._jobs.counts[job_row, _READY].sum() <= self._jobs.min_member[job_row]:
            return False
        return bool(self.surplus_of_roles(rows)[0] > 0 and self._divided.surplus(rows)[0] > 0)

    def surplus_of_groups(self, rows: Rows) -> Counts:
        """[K] how many pods the sub-group of each pod can give and stay complete."""
        return self._divided.surplus(rows)

    # -- a sub-group at a time -------------------------------------------------------------------------------------

    def sub_groups(self) -> list[Unit]:
        """The sub-groups that may go as a whole, each by itself."""
        return [unit for unit in self._divided.units() if self._keeps_minimums_without(unit)]

    def can_spare_group(self, unit: Unit) -> bool:
        """Whether the job keeps its minimums without this sub-group."""
        return self._divided.is_surplus(unit) and self._keeps_minimums_without(unit)

    def _keeps_minimums_without(self, unit: Unit) -> bool:
        leaving = unit.rows[READY_STATUSES[self._tasks.status[unit.rows]]]
        if unit.job.ready - len(leaving) < unit.job.min_member:
            return False
        in_role = Counter(self._tasks.role[leaving].tolist())
        minimums = self._roles.get(unit.job.row, {}).items()
        needs = ((self._numbers.get(name, -1), least) for name, least in minimums)
        return all(self._ready_in_role(unit.job.row, role) - in_role[role] >= least for role, least in needs)

    def _ready_in_role(self, job_row: int, number: int) -> int:
        rows = self._ssn.tasks_of_row(job_row)
        is_ready = READY_STATUSES[self._tasks.status[rows]]
        return int(np.count_nonzero(is_ready & (self._tasks.role[rows] == number)))

    # -- whole -----------------------------------------------------------------------------------------------------

    def may_go_whole(self) -> Flags:
        """[J] jobs all of whose pods are candidates, while none of them is being bound or has a place promised."""
        may_go = self.could_go_whole()
        if self.rules.min_runtime > 0:
            for row in np.flatnonzero(may_go & self.are_complete()).tolist():
                may_go[row] = self._has_run_long_enough(row)
        return may_go

    def could_go_whole(self) -> Flags:
        """The same, however short they have been complete."""
        if not self.take_whole:
            return np.zeros(self._jobs.size, dtype=np.bool_)
        counts = self._jobs.counts
        held = counts[:, _HELD].sum(axis=1)
        still = self._candidates[EVICTABLE_STATUSES[self._tasks.status[self._candidates]]]
        offered = np.bincount(self._tasks.job[still], minlength=self._jobs.size)
        could_go: Flags = (held > 0) & (offered == held) & (self._jobs.min_member > 0) & ~self.are_starting()
        return could_go

    def are_starting(self) -> Flags:
        """[J] jobs of which a pod is being bound or has a place promised."""
        starting: Flags = self._jobs.counts[:, _UNDER_WAY].sum(axis=1) > 0
        return starting

    def is_deadlocked(self, job_row: int) -> bool:
        """Whether the job holds places, but fewer than its minimum, while its other pods wait for theirs."""
        counts = self._jobs.counts[job_row]
        ready, waiting = int(counts[_READY].sum()), int(counts[TaskStatus.PENDING])
        return (
            bool(counts[_HELD].any())
            and ready + waiting >= self._jobs.min_member[job_row]
            and not counts[list(_UNDER_WAY)].any()
            and not (ready >= self._jobs.min_member[job_row] and self._has_roles(job_row) and self._has_groups(job_row))
        )

    def are_complete(self) -> Flags:
        """[J] jobs that have their minimums."""
        complete: Flags = self._jobs.counts[:, _READY].sum(axis=1) >= self._jobs.min_member
        for row in self._roles:
            complete[row] &= self._has_roles(row)
        for row in self._divided.jobs:
            complete[row] &= self._has_groups(row)
        return complete

    def _has_groups(self, job_row: int) -> bool:
        """Whether the job has as many complete sub-groups as its policies say."""
        return not self._divided.lacks_any(job_row)

    def _has_roles(self, job_row: int) -> bool:
        """Whether the job has the minimums of its roles."""
        numbers = ((self._numbers.get(name, -1), least) for name, least in self._roles.get(job_row, {}).items())
        return all(self._ready_in_role(job_row, number) >= least for number, least in numbers)

    def request_something(self) -> Flags:
        """[J] jobs of which a pod that holds a place requests resources."""
        tasks = self._tasks
        rows = np.flatnonzero(EVICTABLE_STATUSES[tasks.status] & (tasks.job >= 0))
        rows = rows[~self._ssn.best_effort_classes[tasks.task_class[rows]]]
        flags = np.zeros(self._jobs.size, dtype=np.bool_)
        flags[tasks.job[rows]] = True
        return flags

    def _has_run_long_enough(self, job_row: int) -> bool:
        """Whether a complete gang has been so for the minimum time; otherwise a cycle is requested for then."""
        until = self.stays_until(job_row)
        if until > self._ssn.now:
            self._ssn.wakeups.recheck_at(until)
        return until <= self._ssn.now

    def stays_until(self, job_row: int) -> float:
        """When a complete gang has been so for the minimum time."""
        if job_row not in self._complete_since:
            rows = self._ssn.tasks_of_row(job_row)
            since = np.sort(self._tasks.scheduled_at[rows[READY_STATUSES[self._tasks.status[rows]]]])
            self._complete_since[job_row] = float(since[int(self._jobs.min_member[job_row]) - 1])
        return self._complete_since[job_row] + self.rules.min_runtime

    def whole(self, job: Job) -> Unit:
        """All that the job holds."""
        tasks, rows = self._tasks, self._ssn.tasks_of(job)
        rows = expendable_first(tasks, rows[EVICTABLE_STATUSES[tasks.status[rows]]])
        requests = self._ssn.ledger.classes.request[tasks.task_class[rows]]
        core = ~self._least_surplus(job, rows, requests)
        return Unit(job, rows, requests.sum(axis=0), is_whole=True, core=requests[core].sum(axis=0))

    def _least_surplus(self, job: Job, rows: Rows, requests: Counts) -> Flags:
        """[K] as many pods as the job can give one by one: the smallest, as a plan may give any of them first."""
        roles = self._tasks.role[rows]
        numbers = ((self._numbers.get(name, -1), least) for name, least in self._roles.get(job.row, {}).items())
        left = {number: self._ready_in_role(job.row, number) - least for number, least in numbers}
        surplus, gives = job.ready - job.min_member, np.zeros(len(rows), dtype=np.bool_)
        size = requests @ (1 / np.maximum(self._ssn.total, 1))
        for at in np.argsort(size, kind="stable").tolist() if surplus > 0 else ():
            role = int(roles[at])
            if surplus > 0 and left.get(role, 1) > 0:
                gives[at], surplus = True, surplus - 1
                if role in left:
                    left[role] -= 1
        return gives
