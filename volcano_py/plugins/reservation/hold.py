"""The nodes that are held in this cycle, and what other jobs may still take of them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Placement
from volcano_py.framework.session import Session
from volcano_py.framework.views import Counts, NodeView
from volcano_py.plugins.reservation.places import Places, rows_and_amounts
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.runtimes import ends, on_nodes
from volcano_py.state.table.table import NOWHERE
from volcano_py.state.task_class import TaskClass

HOLDER: Final = "holder"
"""Variant of tasks of the job that has the turn."""
IN_TIME: Final = "in time"
"""Variant of tasks that end before it is to start."""
FIRST: Final = "first"
"""Variant of tasks that go before it."""

_PLENTY: Final = np.iinfo(np.int64).max


class Hold:
    """Places as of this cycle; follows what is placed.

    A task fits alongside if, at the time the places are for and with all gone that ends by then, the node has room for
    both.
    """

    def __init__(self, ssn: Session, places: Places, last: float) -> None:
        """`last`: up to when pods count as ending where it is not known when the job starts."""
        self._nodes = ssn.ledger.nodes
        rows, self._held = rows_and_amounts(ssn, places)
        self._place_of = np.full(self._nodes.size, NOWHERE)
        self._place_of[rows] = np.arange(len(rows))
        self._taken = np.zeros_like(self._held)
        self._leaving = np.zeros_like(self._held)
        self._ends_in_time = np.zeros(ssn.ledger.tasks.size, dtype=np.bool_)
        self._count_leaving(ssn, max(places.start, ssn.now) if places.is_foreseen else last)

    @property
    def ending(self) -> bytes:
        """The tasks that end in time, to be compared."""
        return np.flatnonzero(self._ends_in_time).tobytes()

    def _count_leaving(self, ssn: Session, moment: float) -> None:
        """What ends by then. Of terminating pods the node table knows."""
        ledger = ssn.ledger
        rows = on_nodes(ledger)
        rows = rows[(self._place_of[ledger.tasks.node[rows]] != NOWHERE)]
        rows = rows[ledger.tasks.status[rows] != TaskStatus.RELEASING]
        rows = rows[ends(ledger, rows, ssn.now) <= moment]
        self._ends_in_time[rows] = True
        requests = ledger.classes.request[ledger.tasks.task_class[rows]]
        np.add.at(self._leaving, self._place_of[ledger.tasks.node[rows]], requests)

    def closed(self, task_class: TaskClass, view: NodeView) -> NDArray[np.bool_]:
        """[K] where no task of the class fits alongside what is held."""
        return self.room(task_class, view) <= 0

    def room(self, task_class: TaskClass, view: NodeView) -> Counts:
        """[K] how many tasks of the class fit alongside what is held; plenty where nothing is."""
        room = np.full(len(view), _PLENTY)
        places = self._place_of[view.rows]
        here = np.flatnonzero(places != NOWHERE)
        if not len(here):
            return room
        rows, at = view.rows[here], places[here]
        free = view.idle[here] + self._leaving[at] - np.maximum(self._held[at] - self._taken[at], 0)
        if not view.released:
            free += self._nodes.releasing[rows] - self._nodes.pipelined[rows]
        left = room[here]
        for dim in task_class.requested.tolist():
            np.minimum(left, free[:, dim] // task_class.request[dim], out=left)
        room[here] = np.maximum(left, 0)
        return room

    def update(self, placement: Placement, kind: str, sign: int) -> None:
        """Tasks were placed (1) or removed (-1); of evicted ones, which the node table has as terminating, the other
        way round. `kind` is their variant."""
        at = self._place_of[placement.nodes]
        counts = at != NOWHERE
        if placement.status is TaskStatus.RELEASING:
            counts &= self._ends_in_time[placement.rows]
            amounts = self._leaving
        elif kind == HOLDER:
            amounts = self._taken
        elif kind == IN_TIME:
            amounts = self._leaving
        else:
            return
        np.add.at(amounts, at[counts], sign * placement.task_class.request)
