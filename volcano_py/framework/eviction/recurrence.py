"""Whether evictions would go on for ever: a victim that comes again evicts what it was evicted for."""

from __future__ import annotations

import numpy as np

from volcano_py.framework.eviction.scheme import NEVER, Scheme
from volcano_py.framework.job import Task
from volcano_py.framework.session import Session
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.ledger import Rows


def find_avenger(ssn: Session, scheme: Scheme, victims: list[int], placed: Rows) -> int | None:
    """A victim that could evict one of the tasks `placed`, for which it was evicted; None when none could.

    Plugins are asked as things stand after the plan, with what was promised taken for running.
    """
    tasks = ssn.ledger.tasks
    statuses, nodes = tasks.status[placed].copy(), tasks.node[placed].copy()
    ssn.ledger.move(placed, TaskStatus.RUNNING, nodes.astype(np.intp))
    try:
        return next((row for row in _representatives(ssn, victims) if _could_evict(ssn, scheme, row, placed)), None)
    finally:
        ssn.ledger.restore(placed, statuses, nodes)


def _representatives(ssn: Session, victims: list[int]) -> list[int]:
    """One victim of each job and class."""
    tasks = ssn.ledger.tasks
    return list({(int(tasks.job[row]), int(tasks.task_class[row])): row for row in victims}.values())


def _could_evict(ssn: Session, scheme: Scheme, row: int, placed: Rows) -> bool:
    ledger = ssn.ledger
    owner = ssn.job(int(ledger.tasks.job[row]))
    if owner is None or ssn.task_info(row).preemption_policy == NEVER:
        return False
    if not scheme.may_take(owner.queue, np.array([row], dtype=np.intp)):
        return False
    task = Task(row, owner, ssn.task_class(row), int(ledger.tasks.priority[row]))
    if task.task_class.best_effort:
        placed = placed[ssn.best_effort_classes[ledger.tasks.task_class[placed]]]
    return len(ssn.ask.victims(scheme.point, task, placed, in_time=True)) > 0
