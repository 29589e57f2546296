"""Reprieve: victims that a whole plan does not need, as what the other victims free is enough for all its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from volcano_py.framework.eviction.eviction_order import eviction_order
from volcano_py.framework.job import Job, Task
from volcano_py.framework.statement import Statement

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


class Place(msgspec.Struct, frozen=True):
    """A task that has a place now, and the victims evicted for it."""

    row: int
    node: int
    victims: tuple[int, ...]


def reprieve(ssn: Session, job: Job, plan: Mapping[Statement, Sequence[Place]]) -> set[int]:
    """Take out of the plan the victims without which every task still has its place, and return them.

    `plan` has the places of the job's tasks by their statement. A plan in which only one task has victims needs no
    second check: they were chosen one by one for that task.
    """
    evicting = [(statement, place) for statement, places in plan.items() for place in places if place.victims]
    if len(evicting) < 2:
        return set()
    tasks, first = ssn.ledger.tasks, evicting[0][1].row
    task = Task(first, job, ssn.task_class(first), int(tasks.priority[first]))
    statements = {victim: statement for statement, place in evicting for victim in place.victims}
    victims = np.array(list(statements), dtype=np.intp)
    idle = ssn.ledger.nodes.future_idle()[tasks.node[victims]]
    small = (ssn.ledger.classes.request[tasks.task_class[victims]] <= idle).all(axis=1)
    spared: set[int] = set()
    for victim in reversed(eviction_order(ssn, ssn.ask, task, victims[small])):
        if _has_room(ssn, job, victim):
            operation = statements[victim].take_back(victim)
            if _all_may_come(ssn, job, plan, int(tasks.node[victim])):
                spared.add(victim)
            else:
                statements[victim].do(operation)
    return spared


def _has_room(ssn: Session, job: Job, victim: int) -> bool:
    """Whether its node, and the ceilings that it shares with the job's queue, have room for it alongside the plan."""
    tasks, task_class = ssn.ledger.tasks, ssn.task_class(victim)
    if (task_class.request > ssn.ledger.nodes.future_idle(int(tasks.node[victim]))).any():
        return False
    room = ssn.ask.allocatable(job.queue, task_class)
    return room.count > 0 or int(tasks.queue[victim]) not in ssn.ask.below_ceiling(room, job.queue)


def _all_may_come(ssn: Session, job: Job, plan: Mapping[Statement, Sequence[Place]], near: int) -> bool:
    """Whether each task could be placed last, where it is; those on the node `near` are checked first.

    Of the tasks of one class on one node, one is checked.
    """
    kinds = {
        (place.node != near, ssn.task_class(place.row).row, place.node): (statement, place)
        for statement, places in plan.items()
        for place in places
    }
    return all(_may_come(ssn, job, *kinds[kind]) for kind in sorted(kinds))


def _may_come(ssn: Session, job: Job, statement: Statement, place: Place) -> bool:
    task_class = ssn.task_class(place.row)
    operation = statement.take_back(place.row)
    may_come = ssn.ask.allocatable(job.queue, task_class).count > 0 and ssn.placer.may_take(task_class, place.node)
    statement.do(operation)
    return may_come
