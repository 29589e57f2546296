"""A gang placed by the placer of a session, some of its tasks at a time."""

from __future__ import annotations

from itertools import cycle

import numpy as np

from tests.support.sessions import Opened


def placed(opened: Opened, *at_a_time: int, gang: str = "g", afresh: bool = False) -> tuple[list[str], int]:
    """Nodes in the order in which the gang takes them, and how many choices that took.

    At most so many tasks are asked for at a time; of several numbers, each in its turn, over and over. `afresh`: no
    choice has anything left of what those before it had planned ahead.
    """
    job = opened.job(gang)
    waiting = opened.ssn.tasks_of(job)
    task_class = opened.ssn.task_class(int(waiting[0]))
    statement, choices = opened.ssn.statement(), 0
    where: list[str] = []
    for most in cycle(at_a_time):
        if not len(waiting):
            break
        choice = opened.ssn.placer.choose(task_class, min(most, len(waiting)))
        if not len(choice.nodes) or choice.pipelined:
            break
        choices += 1
        statement.allocate(job, task_class, waiting[: len(choice.nodes)], choice.nodes)
        where.extend(opened.ssn.snapshot.nodes[row].name for row in choice.nodes.tolist())
        waiting = waiting[len(choice.nodes) :]
        if afresh:
            opened.ssn.placer.touch(np.array([0]))
    return where, choices
