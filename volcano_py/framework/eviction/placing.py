"""A place for one task of a plan, where nothing more has to go for it."""

from __future__ import annotations

from volcano_py.framework.eviction.draft import Draft
from volcano_py.framework.job import Task
from volcano_py.framework.session import Session


def place(ssn: Session, draft: Draft, task: Task) -> bool:
    """Promise the task the best node that has room for it, now or once the victims of the plan are gone."""
    if ssn.ask.allocatable(task.job.queue, task.task_class).count <= 0:
        return False
    choice = ssn.placer.choose(task.task_class, 1)
    if not len(choice.nodes):
        return False
    at_once = task.task_class.best_effort and not choice.pipelined
    draft.promise(task, int(choice.nodes[0]), is_for_backfill=at_once)
    return True
