"""What one node lacks for one task."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Task
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.ledger import Rows


class NodeShortage:
    """See the module; as of the moment of each question."""

    def __init__(self, ssn: Session, task: Task, node: int) -> None:
        self._ssn = ssn
        self._task = task
        self._node = node

    def missing(self) -> IntVector:
        """[R] what there is too little of for the task: on the node, once terminating pods are gone; where that has
        enough, below the ceilings of the queue."""
        request = self._task.task_class.request
        idle = self._ssn.ledger.nodes.future_idle(self._node)
        missing: IntVector = np.where(request > 0, np.maximum(request - idle, 0), 0)
        if not missing.any() and (short := self.short_below_ceilings()) is not None:
            dim, units = short
            missing[dim] = units
        return missing

    def short_below_ceilings(self) -> tuple[int, int] | None:
        """The resource that a ceiling of the queue leaves short, and by how much; None when none does."""
        return self._ssn.ask.allocatable(self._task.job.queue, self._task.task_class).short

    def may_take(self) -> bool:
        """Whether ceilings and all predicates let the task go there."""
        room = self._ssn.ask.allocatable(self._task.job.queue, self._task.task_class)
        return room.count > 0 and self.passes_predicates()

    def passes_predicates(self) -> bool:
        """Whether all predicates let the task go there once terminating pods are gone."""
        return self._ssn.placer.may_take(self._task.task_class, self._node)

    def is_refused(self) -> bool:
        """Whether a predicate refuses the task as things stand."""
        return bool(self._ssn.placer.codes(self._task.task_class)[self._node] != FITS)

    def requests_of(self, rows: Rows | list[int]) -> NDArray[np.int64]:
        """[K, R] what these tasks request."""
        ledger = self._ssn.ledger
        requests: NDArray[np.int64] = ledger.classes.request[ledger.tasks.task_class[rows]]
        return requests
