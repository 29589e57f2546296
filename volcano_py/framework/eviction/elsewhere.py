"""Where pods that run could go instead: tried with all predicates, and undone.

Pods are moved one after the other, so each is judged as things stand once those before it have left their nodes and
taken their new ones. The session is as before at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Job
from volcano_py.framework.placement.variants import Variant, variant_of
from volcano_py.framework.session import Session
from volcano_py.framework.statement import Statement
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import NOWHERE
from volcano_py.state.task_class import TaskClass
from volcano_py.state.terms.profiles import Profile

# Kinds of pods that find no node, in one round: each costs a look at all nodes (a millisecond with 1,000 of them).
_MOST_FAILURES: Final = 100
_Kind = tuple[int, int, int]
"""Row of a class, of the node that its pod leaves, and of its job, each NOWHERE where it does not matter."""


_Classes = dict[tuple[int, Variant, Profile], TaskClass]


def _classes(_ssn: Session) -> _Classes:
    """One for the session: what plugins know of a class, they keep by its row."""
    return {}


@contextmanager
def elsewhere(ssn: Session, allowed: NDArray[np.bool_]) -> Iterator[Elsewhere]:
    """For pods that are to go to one of the nodes `allowed` [N]."""
    statement = ssn.statement()
    with ssn.findings.forgetting_places():
        try:
            yield Elsewhere(ssn, statement, allowed)
        finally:
            statement.discard()


class Elsewhere:
    """See the module. Made by `elsewhere`."""

    def __init__(self, ssn: Session, statement: Statement, allowed: NDArray[np.bool_]) -> None:
        self._ssn = ssn
        self._statement = statement
        self._allowed = allowed
        self._classes = ssn.shared(_classes)
        self._nowhere: set[_Kind] = set()
        """What found no node, and will find none: there is less room with each pod that is moved."""
        self._has_moved_more = False
        self._taken_back: dict[tuple[str, int], bool] = {}
        """Name of a queue, row of a class → whether it takes pods back; pods that are moved still count there."""

    @property
    def has_given_up(self) -> bool:
        """Whether so many different pods have found no node that no other one is tried."""
        return len(self._nowhere) >= _MOST_FAILURES

    def move(self, job: Job, row: int) -> int | None:
        """The best of the nodes for the running task of the job, which then counts there; None when none takes it.

        Of the pods that use more than amounts of their node (volumes, devices, ports of the host), only one is moved:
        what another one would find is not known.
        """
        task_class = self._class_as_if_pending(job, row)
        kind, uses_more = self._kind_of(job, row, task_class), not task_class.uses_amounts_only
        if kind in self._nowhere or self.has_given_up or (uses_more and self._has_moved_more):
            return None
        rows, mark = np.array([row], dtype=np.intp), self._statement.checkpoint()
        self._statement.evict(job, self._ssn.task_class(row), rows)
        node = self._best_node(job, row, task_class)
        if node is None:
            self._statement.rollback(mark)
            self._nowhere.add(kind)
        elif uses_more:
            self._has_moved_more = True
        else:
            self._statement.allocate(job, self._ssn.task_class(row), rows, np.array([node], dtype=np.intp))
        return node

    def takes_back(self, job: Job, row: int) -> bool:
        """Whether the queue of the running task takes it again, once it has left.

        Not if the queue is closed or holds more than it may. If it is full, its place may also go to pods that wait for
        room in the queue, or in one that shares its limit.
        """
        task_class = self._ssn.task_class(row)
        key = job.queue.name, task_class.row
        known = self._taken_back.get(key)
        if known is None:
            known = self._taken_back[key] = self._has_room_again(job, row, task_class)
        return known

    def _has_room_again(self, job: Job, row: int, task_class: TaskClass) -> bool:
        ask, queue = self._ssn.ask, job.queue
        before = ask.allocatable(queue, task_class)
        if before.count < 1 and self._is_awaited(ask.below_ceiling(before, queue)):
            return False
        mark = self._statement.checkpoint()
        self._statement.evict(job, task_class, np.array([row], dtype=np.intp))
        has_room = ask.allocatable(queue, task_class).count > 0
        self._statement.rollback(mark)
        return has_room

    def _is_awaited(self, queues: list[int]) -> bool:
        """Whether pods of one of the queues wait."""
        tasks, jobs = self._ssn.ledger.tasks, self._ssn.ledger.jobs
        waiting = tasks.job[(tasks.status == TaskStatus.PENDING) & (tasks.job >= 0)]
        return bool(np.isin(jobs.queue[waiting], queues).any())

    def _kind_of(self, job: Job, row: int, task_class: TaskClass) -> _Kind:
        """What the answer follows from: if the class looks at other pods, also the node that the pod leaves."""
        looks_at_pods = task_class.affinity_terms or task_class.spreads or task_class.profile
        node = int(self._ssn.ledger.tasks.node[row]) if looks_at_pods else NOWHERE
        return task_class.row, node, NOWHERE if job.info.topology is None else job.row

    def _best_node(self, job: Job, row: int, task_class: TaskClass) -> int | None:
        if task_class.problem is not None or self._ssn.ask.pre_predicate(task_class) is not None:
            return None
        feasible = self._ssn.placer.feasible(task_class, self._ssn.topology.confinement(job, row))
        feasible = feasible[self._allowed[feasible]]
        return int(self._ssn.placer.ranked(task_class, feasible)[0]) if len(feasible) else None

    def _class_as_if_pending(self, job: Job, row: int) -> TaskClass:
        """The class that the pod created in its place will have: what tells pods apart is known of waiting ones only.
        Its row is in no table."""
        ssn, origin = self._ssn, self._ssn.task_class(row)
        terms = ssn.snapshot.terms
        profile = terms.profiles[int(terms.profile_of[ssn.ledger.tasks.labels[row]])]
        key = origin.row, variant_of(ssn, ssn.dispatch, job.row, row), profile
        made = self._classes.get(key)
        if made is None:
            made = self._classes[key] = msgspec.structs.replace(
                origin, row=-1 - len(self._classes), variant=dict(key[1]), profile=profile, spread_among=None
            )
        return made
