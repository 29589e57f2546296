"""gang: a job runs with at least its minimum of tasks, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.names import GENERATED_GROUP_PREFIX
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain_gangs import (
    PodMaker,
    ShortPolicy,
    ShortRole,
    gang_incomplete,
    not_enough_of_groups,
    not_enough_of_roles,
    not_enough_tasks,
)
from volcano_py.framework.eviction.starving import counts_beyond_minimum
from volcano_py.framework.job import Job, Task
from volcano_py.framework.plugin import Key, Plugin
from volcano_py.framework.roles import role_minimums
from volcano_py.framework.session import Session
from volcano_py.framework.votes import PERMIT, Ballot, reject
from volcano_py.state.infos import JobInfo
from volcano_py.state.status import PLACED_STATUSES, READY_STATUSES, VALID_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import Refusal

# Places in the order of jobs.
_BOUND_IN_PART: Final = -1
_NOT_READY: Final = 0
_IS_READY: Final = 1


class RoleCount(NamedTuple):
    """A role with a minimum, and how many of its tasks were found in the statuses asked for."""

    name: str
    minimum: int
    found: int

    @property
    def missing(self) -> int:
        return max(self.minimum - self.found, 0)


class Gang(Plugin):
    """Minimums are `spec.minMember`, by role (`volcano.sh/task-spec`) `spec.minTaskMember`, and by policy of sub-groups
    `minSubGroups`: so many of them have to be complete, which each is with `subGroupSize` pods.

    Minimums of roles hold only when minMember covers their sum: below it, the author wants any minMember tasks.
    """

    name = "gang"
    allows_series = True
    sees_jobs_alike = True
    evictions_last = True
    refuses_incomplete = True

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        self._tasks = ssn.ledger.tasks
        self._role_numbers = {name: number for number, name in enumerate(ssn.snapshot.roles)}

    # -- may it be scheduled at all --------------------------------------------------------------------------------

    def job_valid(self, job: Job) -> Refusal | None:
        counted = self._roles(job, VALID_STATUSES) if job.info.min_task_member else ()
        if short := [ShortRole(role.name, role.found, role.minimum) for role in counted if role.missing]:
            strangers = self._ssn.snapshot.strangers.get(job.key)
            text = not_enough_of_roles(job.key, short, maker=_maker_of(job.info), strangers=strangers)
            return Refusal(Reason.NOT_ENOUGH_TASKS, text)
        if short_groups := self._short_of_groups(job):
            return Refusal(Reason.NOT_ENOUGH_TASKS, not_enough_of_groups(job.key, short_groups))
        found = job.valid_tasks
        if found < job.min_member:
            ended, strangers = job.tasks - found, self._ssn.snapshot.strangers.get(job.key)
            text = not_enough_tasks(
                job.key, found, job.min_member, ended=ended, maker=_maker_of(job.info), strangers=strangers
            )
            return Refusal(Reason.NOT_ENOUGH_TASKS, text)
        return None

    def certainly_valid(self, rows: Rows) -> NDArray[np.bool_]:
        return self._reach_minimum(rows, VALID_STATUSES)

    # -- is it complete --------------------------------------------------------------------------------------------

    def job_ready(self, job: Job) -> bool:
        """Pending tasks that ask for nothing count: backfill always finds a place for them."""
        return self._is_ready(job, job.ready)

    def certainly_ready(self, rows: Rows) -> NDArray[np.bool_]:
        return self._reach_minimum(rows, READY_STATUSES)

    def _is_ready(self, job: Job, ready: int) -> bool:
        """Whether it is, with `ready` tasks that count towards the gang."""
        return (
            ready + job.best_effort_pending >= job.min_member
            and not self._missing(job, READY_STATUSES)
            and not self._missing_in_groups(job, READY_STATUSES)
        )

    def tasks_to_ready(self, job: Job) -> int:
        lacking = job.min_member - job.ready - job.best_effort_pending
        return max(1, lacking, self._missing(job, READY_STATUSES), self._missing_in_groups(job, READY_STATUSES))

    def job_pipelined(self, job: Job) -> Ballot:
        placed = job.ready + job.waiting
        if (
            placed + job.best_effort_pending >= job.min_member
            and not self._missing(job, PLACED_STATUSES)
            and not self._missing_in_groups(job, PLACED_STATUSES)
        ):
            return PERMIT
        return reject(Reason.GANG_INCOMPLETE, gang_incomplete(placed, job.tasks, job.min_member))

    def job_starving(self, job: Job) -> bool:
        """Until its minimums have places, also those of roles and sub-groups; where more than that counts, until all
        pods do."""
        if counts_beyond_minimum(self._ssn):
            return job.pending_tasks > 0
        if job.waiting + job.ready < job.min_member:
            return True
        with job.without_best_effort():
            return bool(self._missing(job, PLACED_STATUSES) or self._missing_in_groups(job, PLACED_STATUSES))

    def job_order(self, job: Job) -> Key:
        """Jobs that are not ready first, and of those the ones that hold places without being able to use them."""
        ready = job.ready
        if self._is_ready(job, ready):
            return _IS_READY
        return _BOUND_IN_PART if ready and job.started_tasks else _NOT_READY

    def _reach_minimum(self, rows: Rows, statuses: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """[K] jobs without any other minimum of which enough tasks are in these statuses."""
        jobs, infos = self._ssn.ledger.jobs, [self._ssn.snapshot.jobs[row] for row in rows.tolist()]
        has_no_other = [info is not None and not info.min_task_member and info.topology is None for info in infos]
        reach: NDArray[np.bool_] = jobs.counts[rows][:, statuses].sum(axis=1) >= jobs.min_member[rows]
        return reach & np.array(has_no_other, dtype=np.bool_)

    # -- victims ---------------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:  # noqa: ARG002
        """All: where this plugin is configured, jobs give what they have beyond their minimums, or go whole
        (framework/eviction/gangs.py). None is torn."""
        return np.ones(len(candidates), dtype=np.bool_)

    def reclaimable(self, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_]:
        return self.preemptable(reclaimer, candidates)

    # -- roles -----------------------------------------------------------------------------------------------------

    def _missing(self, job: Job, statuses: NDArray[np.bool_]) -> int:
        """How many more tasks the roles want in these statuses; best-effort tasks count as they do for the job."""
        if not job.info.min_task_member:
            return 0  # by far the most frequent case
        return sum(role.missing for role in self._roles(job, statuses, with_best_effort=True))

    def _roles(self, job: Job, statuses: NDArray[np.bool_], *, with_best_effort: bool = False) -> Iterator[RoleCount]:
        for name, minimum in role_minimums(job.info).items():
            number = self._role_numbers.get(name, -1)
            rows = self._ssn.tasks_of(job)
            found = self._in_role(rows, number, statuses)
            if with_best_effort and job.best_effort_pending:
                found += self._best_effort_in_role(rows, number)
            yield RoleCount(name, minimum, found)

    def _in_role(self, rows: Rows, number: int, statuses: NDArray[np.bool_]) -> int:
        return int(np.count_nonzero(statuses[self._tasks.status[rows]] & (self._tasks.role[rows] == number)))

    def _best_effort_in_role(self, rows: Rows, number: int) -> int:
        tasks = self._tasks
        best_effort = self._ssn.best_effort_classes[tasks.task_class[rows]] & ~tasks.gated[rows]
        pending = (tasks.status[rows] == TaskStatus.PENDING) & (tasks.role[rows] == number)
        return int(np.count_nonzero(best_effort & pending))

    # -- sub-groups ------------------------------------------------------------------------------------------------

    def _missing_in_groups(self, job: Job, statuses: NDArray[np.bool_]) -> int:
        """How many more tasks have to be in these statuses until each policy has its minimum of complete sub-groups."""
        groups = self._ssn.sub_groups(job)
        if groups is None or not any(policy.minimum for policy in groups.policies):
            return 0
        waiting = groups.count(self._tasks.status[groups.rows] == TaskStatus.PENDING)
        return groups.missing(self._ssn.in_sub_groups(job, statuses), waiting)

    def _short_of_groups(self, job: Job) -> list[ShortPolicy]:
        """Policies that have too few sub-groups with enough pods."""
        groups = self._ssn.sub_groups(job)
        if groups is None:
            return []
        found = groups.count(VALID_STATUSES[self._tasks.status[groups.rows]])
        return [
            ShortPolicy(policy.name, policy.minimum - lacking, policy.minimum, policy.size)
            for policy, lacking in zip(groups.policies, groups.lacking(found).tolist(), strict=True)
            if lacking
        ]


def _maker_of(info: JobInfo) -> PodMaker | None:
    """The controller that creates the pods; None for a PodGroup that a user wrote, or that was created for one pod."""
    owner = info.owner
    if owner is None or owner.kind == "Pod":
        return None
    who = f"{owner.kind} {owner.name}"
    if owner.is_volcano_job:
        return PodMaker(who, "its minAvailable", "minAvailable of its tasks")
    if info.ref.name == f"{GENERATED_GROUP_PREFIX}{owner.uid}":
        return PodMaker.with_annotation(owner.kind, owner.name, info.min_member)
    return PodMaker(who)
