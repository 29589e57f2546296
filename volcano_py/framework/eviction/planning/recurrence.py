"""Whether evictions would go on without end: a victim that comes again evicts what it was evicted for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from volcano_py.framework.eviction.gangs import Gangs
from volcano_py.framework.eviction.planning.draft import Eviction
from volcano_py.framework.eviction.scheme import NEVER, Scheme
from volcano_py.framework.eviction.units import Need, Unit, Verdict
from volcano_py.framework.job import Job, Task
from volcano_py.framework.session import Session
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows


def recurring_victim(
    ssn: Session, gangs: Gangs, scheme: Scheme, evictions: Sequence[Eviction], evictor: Job, placed: Rows
) -> int | None:
    """A victim that could evict some of the tasks `placed`, for which it was evicted: the row of its pod; None when
    none could. A job that goes whole comes back whole.

    Plugins are asked as things stand after the plan, with what was promised taken for running.
    """
    tasks = ssn.ledger.tasks
    statuses, nodes = tasks.status[placed].copy(), tasks.node[placed].copy()
    ssn.ledger.move(placed, TaskStatus.RUNNING, nodes.astype(np.intp))
    try:
        units = list(_units(ssn, gangs, evictor, placed))
        for rows in _representatives(ssn, evictions):
            if _could_evict(ssn, scheme, rows, units):
                return int(rows[0])
        return None
    finally:
        ssn.ledger.restore(placed, statuses, nodes)


def _representatives(ssn: Session, evictions: Iterable[Eviction]) -> Iterator[Rows]:
    """What would come back together: the minimum of a job that goes whole, or one pod of each job and class."""
    tasks, seen = ssn.ledger.tasks, set()
    for unit in (each.unit for each in evictions):
        row = int(unit.rows[0])
        kind = (unit.job.row, -1 if unit.is_whole else int(tasks.task_class[row]))
        if kind not in seen:
            seen.add(kind)
            yield unit.rows[-unit.job.min_member :] if unit.is_whole else unit.rows


def _units(ssn: Session, gangs: Gangs, job: Job, placed: Rows) -> Iterator[Unit]:
    """What the evictor could lose of what it was given: one pod of each class, if it has more than its minimum, and
    all of it."""
    requests, classes = ssn.ledger.classes.request, ssn.ledger.tasks.task_class[placed]
    for first in np.unique(classes, return_index=True)[1].tolist():
        if gangs.can_spare(int(placed[first])):
            yield Unit.alone(job, int(placed[first]), requests[classes[first]])
    if gangs.take_whole:
        request = requests[classes].sum(axis=0)
        yield Unit(job, placed, request, is_whole=True, core=request)


def _could_evict(ssn: Session, scheme: Scheme, rows: Rows, units: Iterable[Unit]) -> bool:
    ledger, row = ssn.ledger, int(rows[0])
    owner = ssn.job(int(ledger.tasks.job[row]))
    if owner is None or ssn.task_info(row).preemption_policy == NEVER or not scheme.may_take(owner.queue, rows):
        return False
    task = Task(row, owner, ssn.task_class(row), int(ledger.tasks.priority[row]))
    request = ledger.classes.request[ledger.tasks.task_class[rows]].sum(axis=0)
    need = Need(task, request, request > 0)
    return any(
        ssn.ask.gives(scheme.point, need, unit, in_time=True).verdict is not Verdict.NO
        for unit in units
        if _comes_into_question(ssn, scheme, task, unit)
    )


def _comes_into_question(ssn: Session, scheme: Scheme, task: Task, unit: Unit) -> bool:
    if task.task_class.best_effort and not ssn.best_effort_classes[ssn.ledger.tasks.task_class[unit.rows]].all():
        return False
    if not unit.is_whole:
        return True
    return scheme.takes_whole
