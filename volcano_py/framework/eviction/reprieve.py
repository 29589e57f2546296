"""Victims of a whole plan who need not go: what others free for some of its tasks is enough for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from volcano_py.framework.eviction.victims import eviction_order
from volcano_py.framework.job import Job, Task
from volcano_py.framework.statement import Statement

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


class Place(msgspec.Struct, frozen=True):
    """A task that has a place now, and who had to go for it."""

    row: int
    node: int
    victims: tuple[int, ...]


def needless(ssn: Session, job: Job, plan: Mapping[Statement, Sequence[Place]]) -> set[int]:
    """The victims without whose eviction every task of the plan still has its place; they are taken out of it.

    `plan` has the places of the job's tasks by the statement that they are in. While only one task had others evicted,
    it has looked for itself.
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
    for victim in reversed(eviction_order(ssn, task, victims[small])):
        if _has_room(ssn, job, victim):
            operation = statements[victim].take_back(victim)
            if _all_may_come(ssn, job, plan, int(tasks.node[victim])):
                spared.add(victim)
            else:
                statements[victim].do(operation)
    return spared


def _has_room(ssn: Session, job: Job, victim: int) -> bool:
    """Whether its node, and the ceilings of the job's queue that it counts for, hold it beside what was placed."""
    tasks, task_class = ssn.ledger.tasks, ssn.task_class(victim)
    if (task_class.request > ssn.ledger.nodes.future_idle(int(tasks.node[victim]))).any():
        return False
    room = ssn.allocatable(job.queue, task_class)
    return room.count > 0 or int(tasks.queue[victim]) not in ssn.below_ceiling(room, job.queue)


def _all_may_come(ssn: Session, job: Job, plan: Mapping[Statement, Sequence[Place]], near: int) -> bool:
    """Whether each task could be placed last, where it is; those on the node `near` are asked first.

    Tasks of one class on one node are alike.
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
    may_come = ssn.allocatable(job.queue, task_class).count > 0 and ssn.placer.may_take(task_class, place.node)
    statement.do(operation)
    return may_come
