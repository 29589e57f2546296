"""What node plugins see: some node rows with their numbers, real or assumed, gathered when first read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from volcano_py.state.table.columns import NodeTable
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

Scores = NDArray[np.float64]
Codes = NDArray[np.int32]
"""Per node 0 for yes, or the id of a refusal (Session.refusal)."""
Counts = NDArray[np.int64]
"""Per node a number of tasks."""

FITS = 0


class NodeView:
    """K nodes. A row may occur several times with different `used`, when the placer asks for further tasks.

    Attributes:
        rows: [K] node rows; index node columns and label codes with them.
    """

    __slots__ = ("_allocatable", "_nonzero_used", "_placed", "_released", "_table", "_task_class", "_used", "rows")

    def __init__(
        self,
        table: NodeTable,
        rows: Rows,
        task_class: TaskClass | None = None,
        placed: NDArray[np.int64] | None = None,
        *,
        released: bool = False,
    ) -> None:
        """The nodes of `rows`, assuming `placed` [K] more tasks of `task_class` on them.

        `released`: as they will be when terminating pods are gone and promised places are taken.
        """
        self.rows = rows
        self._table = table
        self._task_class = task_class
        self._placed = None if placed is None else placed[:, None]
        self._released = released
        self._allocatable: NDArray[np.int64] | None = None
        self._used: NDArray[np.int64] | None = None
        self._nonzero_used: NDArray[np.int64] | None = None

    @property
    def released(self) -> bool:
        """Whether the nodes are shown as they will be, not as they are."""
        return self._released

    @property
    def supposed(self) -> NDArray[np.int64] | None:
        """[K] how many more tasks of the class are assumed there; None for none anywhere."""
        return None if self._placed is None else self._placed[:, 0]

    @property
    def allocatable(self) -> NDArray[np.int64]:
        """[K, R]"""
        if self._allocatable is None:
            self._allocatable = self._table.allocatable.take(self.rows, axis=0)
        return self._allocatable

    @property
    def used(self) -> NDArray[np.int64]:
        """[K, R] before the task that is being placed."""
        if self._used is None:
            self._used = self._table.used.take(self.rows, axis=0)
            if self._released:
                self._used += self._promised()
            if self._placed is not None and self._task_class is not None:
                self._used += self._placed * self._task_class.request
        return self._used

    @property
    def nonzero_used(self) -> NDArray[np.int64]:
        """[K, 2] cpu and memory with defaults for containers without requests."""
        if self._nonzero_used is None:
            self._nonzero_used = self._table.nonzero_used.take(self.rows, axis=0)
            if self._placed is not None and self._task_class is not None:
                self._nonzero_used += self._placed * self._task_class.nonzero_request
        return self._nonzero_used

    @property
    def idle(self) -> NDArray[np.int64]:
        """[K, R]"""
        return self.allocatable - self.used

    @property
    def free(self) -> NDArray[np.int64]:
        """[K, R] idle and not promised."""
        return self.idle if self._released else self.idle - np.maximum(self._promised(), 0)

    def _promised(self) -> NDArray[np.int64]:
        """[K, R] promised places beyond what is being released; negative where more is released than promised."""
        return self._table.pipelined.take(self.rows, axis=0) - self._table.releasing.take(self.rows, axis=0)

    def __len__(self) -> int:
        return len(self.rows)


class ClassesView(NodeView):
    """K nodes for C classes of tasks at once.

    Attributes:
        classes: [C]
        request: [C, R] what a task of each class asks for.
        nonzero_request: [C, 2] cpu and memory with defaults for containers without requests.
    """

    __slots__ = ("classes", "nonzero_request", "request")

    def __init__(self, table: NodeTable, rows: Rows, classes: Sequence[TaskClass]) -> None:
        super().__init__(table, rows)
        self.classes = classes
        self.request = np.array([each.request for each in classes])
        self.nonzero_request = np.array([each.nonzero_request for each in classes])

    def suppose(self, placed: Sequence[TaskClass]) -> None:
        """Show a task of `placed` [K] on each node, as if it were there already."""
        self._used = self.used + np.array([each.request for each in placed])
        self._nonzero_used = self.nonzero_used + np.array([each.nonzero_request for each in placed])
