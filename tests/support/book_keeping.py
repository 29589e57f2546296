"""What a statement may do and undo, one step after the other, for tests of the books that plugins keep of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

from tests.support.sessions import Opened
from volcano_py.framework.statement import Statement
from volcano_py.state.status import ALLOCATED_STATUSES, ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.axis import IntVector

LOOK: Final = "look"
_HOLDING: Final = ALLOCATED_STATUSES | (np.arange(len(ALLOCATED_STATUSES)) == TaskStatus.PIPELINED)

Step = tuple[str, str]
"""What is done, and to which job."""


def steps(jobs: Iterable[str], *, most: int, whole: bool = False) -> st.SearchStrategy[list[Step]]:
    """Steps for `do_and_undo`; `whole`: all waiting pods of a job are placed at once."""
    what = ["place all" if whole else "place", "promise", "evict", "rollback", "commit", LOOK]
    return st.lists(st.tuples(st.sampled_from(what), st.sampled_from(sorted(jobs))), max_size=most)


def do_and_undo(session: Opened, steps: Sequence[Step], books: Callable[[Opened], Any]) -> Iterator[str]:
    """Do the steps in one statement, and stop after each, and at the end, for the test to look. Then everything since
    the last commit is discarded, and `books` have to be what they were. Pods are placed on the first node and promised
    places on the last one."""
    statement, before = session.ssn.statement(), books(session)
    for what, job in steps:
        if what == "rollback":
            statement.rollback(len(statement) // 2)
        elif what == "commit":
            statement.commit()
            before = books(session)
        elif what != LOOK:
            _do(session, statement, what, job)
        yield what
    yield LOOK
    statement.discard()
    assert books(session) == before


def held(session: Opened, job: str) -> IntVector:
    """[R] what a job's tasks hold or are promised, counted one by one."""
    ledger, rows = session.ssn.ledger, session.ssn.tasks_of(session.job(job))
    rows = rows[_HOLDING[ledger.tasks.status[rows]]]
    total: IntVector = ledger.classes.request[ledger.tasks.task_class[rows]].sum(axis=0)
    return total


def most_held(session: Opened, *jobs: str) -> IntVector:
    """[R] what the tasks of these jobs hold now, with those that are leaving, or will hold once promises are kept and
    those are gone, whichever is more; counted one by one."""
    ledger = session.ssn.ledger
    rows = np.concatenate([session.ssn.tasks_of(session.job(job)) for job in jobs])
    now, later = (rows[mask[ledger.tasks.status[rows]]] for mask in (ON_NODE_STATUSES, _HOLDING))
    amounts = [ledger.classes.request[ledger.tasks.task_class[some]].sum(axis=0) for some in (now, later)]
    most: IntVector = np.maximum(*amounts)
    return most


def _do(session: Opened, statement: Statement, what: str, job: str) -> None:
    rows = session.ssn.tasks_of(session.job(job))
    wanted = TaskStatus.RUNNING if what == "evict" else TaskStatus.PENDING
    pods = session.names(rows[session.ssn.ledger.tasks.status[rows] == wanted])
    if what != "place all":
        pods = pods[:1]
    nodes = session.ssn.nodes.names
    if not pods:
        return
    if what == "evict":
        session.evict(*pods, statement=statement)
    elif what == "promise":
        session.pipeline(job, dict.fromkeys(pods, nodes[-1]), statement)
    else:
        session.place(job, dict.fromkeys(pods, nodes[0]), statement)
