"""Places for the tasks of a plan, where nothing more has to go for them."""

from __future__ import annotations

import numpy as np

from volcano_py.framework.eviction.planning.draft import Draft
from volcano_py.framework.job import Task
from volcano_py.framework.session import Session


def place(ssn: Session, draft: Draft, task: Task) -> bool:
    """Promise the task the best node that has room for it, now or once the victims of the plan are gone."""
    if ssn.ask.allocatable(task.job.queue, task.task_class).count <= 0:
        return False
    choice = ssn.placer.choose(task.task_class, 1, ssn.topology.confinement(task.job, task.row))
    if not len(choice.nodes):
        return False
    at_once = task.task_class.best_effort and not choice.pipelined
    draft.promise(task, int(choice.nodes[0]), is_for_backfill=at_once)
    return True


def place_on(ssn: Session, draft: Draft, task: Task, node: int) -> bool:
    """Promise the task room on this node, if all rules let it go there once the victims of the plan are gone."""
    if ssn.ask.allocatable(task.job.queue, task.task_class).count <= 0 or not may_come(ssn, task, node):
        return False
    draft.promise(task, node)
    return True


def may_come(ssn: Session, task: Task, node: int) -> bool:
    """Whether the job may use the node, which has room for the task, and no predicate refuses it, once what is evicted
    is gone."""
    if not ssn.topology.may_use(task.job, task.row, np.array([node], dtype=np.intp))[0]:
        return False
    dims = task.task_class.requested
    idle = ssn.ledger.nodes.future_idle(node)[dims]
    return bool((idle >= task.task_class.request[dims]).all()) and ssn.placer.may_take(task.task_class, node)
