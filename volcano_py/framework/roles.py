"""Minimums of roles (`spec.minTaskMember`) and of sub-groups: a gang needs them as well as its minimum of pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.wording.explain_gangs import ShortRole
from volcano_py.framework.job import Job
from volcano_py.framework.topology.sub_groups import SubGroups
from volcano_py.state.infos import JobInfo
from volcano_py.state.status import PLACED_STATUSES, READY_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


def role_minimums(info: JobInfo) -> Mapping[str, int]:
    """Role → its minimum. Empty when minMember is less than their sum: then any minMember tasks will do."""
    minimums = {name: minimum for name, minimum in info.min_task_member.items() if minimum > 0}
    return minimums if sum(minimums.values()) <= info.min_member else {}


def needed_rows(ssn: Session, job: Job) -> Rows:
    """The tasks that the job needs to start, of those that wait and ask for something."""
    tasks, rows = ssn.ledger.tasks, ssn.tasks_of(job)
    rows = rows[(tasks.status[rows] == TaskStatus.PENDING) & ~tasks.gated[rows]]
    rows = minimums_first(ssn, job, ssn.ask.ordered_tasks(rows))
    rows = rows[~ssn.best_effort_classes[tasks.task_class[rows]]]
    return rows[: max(1, ssn.ask.tasks_to_ready(job))]


def minimums_first(ssn: Session, job: Job, rows: Rows) -> Rows:
    """The job's tasks, given in task order, with those first that roles and sub-groups need to reach their minimums.

    Otherwise one role could take the room that the others need. Within a role, tasks without requests come first: they
    cost least. Tasks of a sub-group follow each other.
    """
    if len(rows) <= 1:
        return rows
    groups = ssn.sub_groups(job)
    if job.tasks <= job.min_member:
        # all are needed: by far the most frequent case
        return rows if groups is None else _group_by_group(ssn, job, groups, rows, np.ones(len(rows), dtype=np.bool_))
    needed = _needed_by_roles(ssn, job, rows)
    if groups is not None:
        return _group_by_group(ssn, job, groups, rows, needed)
    return np.concatenate((rows[needed], rows[~needed])) if needed.any() else rows


def _group_by_group(ssn: Session, job: Job, groups: SubGroups, rows: Rows, needed: NDArray[np.bool_]) -> Rows:
    """The tasks, those of a sub-group one after the other. First come the sub-groups that have a task which is `needed`
    [K], or that policies lack: begun ones, those of a higher task priority, and then in their order."""
    tasks = ssn.ledger.tasks
    found = ssn.in_sub_groups(job, PLACED_STATUSES)
    group = groups.group[np.searchsorted(groups.rows, rows)]
    priority = np.full(len(groups) + 1, np.iinfo(np.int64).min)
    np.maximum.at(priority, group, tasks.priority[rows])
    place = np.empty(len(groups) + 1, dtype=np.intp)
    order = np.lexsort((np.arange(len(groups)), -priority[:-1], found == 0))
    place[order] = np.arange(len(groups))
    wanted = np.zeros(len(groups) + 1, dtype=np.bool_)
    for policy, lacking in enumerate(groups.lacking(found).tolist()):
        open_ones = [at for at in order.tolist() if groups.policy[at] == policy and found[at] < groups.size[at]]
        wanted[open_ones[:lacking]] = True
    np.logical_or.at(wanted, group, needed & (group >= 0))
    first = needed | wanted[group]
    # Of what is needed, tasks in no sub-group come last, as they may go to more nodes. The rest stays in task order, a
    # sub-group where its first task is.
    at = np.arange(len(rows))
    position = np.full(len(groups) + 1, len(rows))
    np.minimum.at(position, group, at)
    unit = np.where(group < 0, at, position[group])
    place[-1] = len(groups)
    return rows[np.lexsort((at, unit, np.where(first, place[group], 0), ~first))]


def _needed_by_roles(ssn: Session, job: Job, rows: Rows) -> NDArray[np.bool_]:
    """[K] the tasks that roles need to reach their minimums."""
    needed = np.zeros(len(rows), dtype=np.bool_)
    roles_below = roles_lacking(ssn, job)
    if not roles_below:
        return needed
    tasks = ssn.ledger.tasks
    lightest = np.argsort(~ssn.best_effort_classes[tasks.task_class[rows]], kind="stable")
    for role, lacking in roles_below.items():
        of_role = lightest[tasks.role[rows[lightest]] == role]
        needed[of_role[:lacking]] = True
    return needed


def roles_lacking(ssn: Session, job: Job) -> Mapping[int, int]:
    """Number of each role below its minimum → how many of its tasks have to be placed."""
    minimums = role_minimums(job.info)
    if not minimums:
        return {}
    tasks, rows = ssn.ledger.tasks, ssn.tasks_of(job)
    roles, is_placed = tasks.role[rows], PLACED_STATUSES[tasks.status[rows]]
    found: dict[int, int] = {}
    for role in np.unique(roles).tolist():
        lacking = minimums.get(ssn.snapshot.roles[role], 0) - int(np.count_nonzero(roles[is_placed] == role))
        if lacking > 0:
            found[role] = lacking
    return found


def short_roles(ssn: Session, job: Job, found: Rows) -> Iterator[ShortRole]:
    """Roles below their minimum, even if the tasks `found` had the places that were found for them."""
    tasks, rows = ssn.ledger.tasks, ssn.tasks_of(job)
    placed = tasks.role[np.concatenate((rows[READY_STATUSES[tasks.status[rows]]], found))]
    named = [ssn.snapshot.roles[role] for role in placed.tolist()]
    for name, minimum in role_minimums(job.info).items():
        if (count := named.count(name)) < minimum:
            yield ShortRole(name, count, minimum)
