"""Which pods hold something on their nodes (a host port, a claim), in this cycle.

A pod holds what it asks for from the moment it has a place, or is promised one, until it is gone: one that is being
deleted still holds its port, and the kubelet rejects a pod that comes too early.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from functools import cached_property
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.session import Session
from volcano_py.framework.views import Counts
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import NOWHERE, Rows
from volcano_py.state.task_class import TaskClass

Holds = NDArray[np.bool_]
"""[statuses] with which a pod holds what it asks for."""

NOW: Final = ON_NODE_STATUSES.copy()
NOW[TaskStatus.PIPELINED] = True
THEN: Final = NOW.copy()
"""Once terminating pods are gone."""
THEN[TaskStatus.RELEASING] = False

T = TypeVar("T", bound=Hashable)


def places_of(ledger: Ledger, rows: Rows, holds: Holds) -> NDArray[np.int32]:
    """[K] nodes of the tasks that hold what they ask for, else NOWHERE."""
    where: NDArray[np.int32] = np.where(holds[ledger.tasks.status[rows]], ledger.tasks.node[rows], NOWHERE)
    return where


class Holders(Generic[T]):
    """Counts are made when first asked for, and follow the placements from then on."""

    def __init__(self, ssn: Session, held_by: Callable[[TaskClass], Collection[T]], holds: Holds) -> None:
        """`held_by` says what each pod of a class holds."""
        self._ssn = ssn
        self._held_by = held_by
        self._holds = holds
        self._on: dict[T, Counts] = {}

    def on(self, thing: T) -> Counts:
        """[N] pods on each node that hold the thing."""
        counts = self._on.get(thing)
        if counts is None:
            ledger = self._ssn.ledger
            nodes = ledger.tasks.node[self.rows([thing])]
            counts = self._on[thing] = np.bincount(nodes, minlength=ledger.nodes.size).astype(np.int64)
        return counts

    def any_on(self, things: Iterable[T], rows: Rows) -> NDArray[np.bool_]:
        """[K] nodes with a pod that holds one of the things."""
        mask = np.zeros(len(rows), dtype=np.bool_)
        for thing in things:
            mask |= self.on(thing)[rows] > 0
        return mask

    def rows(self, things: Iterable[T]) -> Rows:
        """[K] tasks that hold one of the things, ascending."""
        ledger = self._ssn.ledger
        classes = [row for thing in things for row in self._classes.get(thing, ())]
        rows = np.flatnonzero(np.isin(ledger.tasks.task_class, classes))
        found: Rows = rows[places_of(ledger, rows, self._holds) != NOWHERE]
        return found

    def update(self, task_class: TaskClass, before: NDArray[np.int32], after: NDArray[np.int32]) -> None:
        """Pods of the class have moved from nodes [K] to nodes [K]."""
        if not self._on:
            return
        for thing in self._held_by(task_class):
            counts = self._on.get(thing)
            if counts is not None:
                np.subtract.at(counts, before[before != NOWHERE], 1)
                np.add.at(counts, after[after != NOWHERE], 1)

    @cached_property
    def _classes(self) -> dict[T, list[int]]:
        """Thing → rows of the classes whose pods hold it."""
        found: dict[T, list[int]] = {}
        for task_class in self._ssn.snapshot.classes:
            if task_class is not None:
                for thing in self._held_by(task_class):
                    found.setdefault(thing, []).append(task_class.row)
        return found
