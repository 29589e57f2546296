"""Minimums of roles (`spec.minTaskMember`): a gang needs them as well as its minimum of pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from volcano_py.api.wording.explain_gangs import ShortRole
from volcano_py.framework.job import Job
from volcano_py.state.infos import JobInfo
from volcano_py.state.status import PLACED_STATUSES, READY_STATUSES
from volcano_py.state.table.table import Rows

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


def role_minimums(info: JobInfo) -> Mapping[str, int]:
    """Role → its minimum. Empty when minMember is less than their sum: then any minMember tasks will do."""
    minimums = {name: minimum for name, minimum in info.min_task_member.items() if minimum > 0}
    return minimums if sum(minimums.values()) <= info.min_member else {}


def minimums_first(ssn: Session, job: Job, rows: Rows) -> Rows:
    """The job's tasks, given in task order, with those first that its roles need to reach their minimums.

    Otherwise one role could take the room that the others need. Within a role, tasks without requests come first: they
    cost least.
    """
    if job.tasks <= job.min_member:
        return rows  # all are needed: by far the most frequent case
    minimums = role_minimums(job.info)
    if not minimums:
        return rows
    tasks = ssn.ledger.tasks
    placed = ssn.tasks_of(job)
    placed = placed[PLACED_STATUSES[tasks.status[placed]]]
    lightest = np.argsort(~ssn.best_effort_classes[tasks.task_class[rows]], kind="stable")
    needed = np.zeros(len(rows), dtype=np.bool_)
    for role in np.unique(tasks.role[rows]).tolist():
        lacking = minimums.get(ssn.snapshot.roles[role], 0) - int(np.count_nonzero(tasks.role[placed] == role))
        of_role = lightest[tasks.role[rows[lightest]] == role]
        needed[of_role[: max(lacking, 0)]] = True
    return np.concatenate((rows[needed], rows[~needed]))


def short_roles(ssn: Session, job: Job, found: Rows) -> Iterator[ShortRole]:
    """Roles below their minimum, even if the tasks `found` had the places that were found for them."""
    tasks, rows = ssn.ledger.tasks, ssn.tasks_of(job)
    placed = tasks.role[np.concatenate((rows[READY_STATUSES[tasks.status[rows]]], found))]
    named = [ssn.snapshot.roles[role] for role in placed.tolist()]
    for name, minimum in role_minimums(job.info).items():
        if (count := named.count(name)) < minimum:
            yield ShortRole(name, count, minimum)
