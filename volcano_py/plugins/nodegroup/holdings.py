"""What queues with a limit hold in each node group, kept up to date within a cycle."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Placement
from volcano_py.framework.session import Session
from volcano_py.state.nodes.index import ABSENT
from volcano_py.state.status import ALLOCATED_STATUSES, TaskStatus
from volcano_py.state.table.axis import IntVector
from volcano_py.state.task_class import TaskClass


class Holdings:
    """Sums for one queue, by group; `limits` are those it has, `codes` [N] point into `groups` (ABSENT for none)."""

    def __init__(
        self,
        ssn: Session,
        slot: int,
        limits: Mapping[str, Mapping[str, int]],
        codes: NDArray[np.int32],
        groups: list[str],
    ) -> None:
        axis = ssn.axis
        self._codes = codes
        self._slot = slot
        self._tasks = ssn.ledger.tasks
        self._limits: dict[int, tuple[NDArray[np.intp], IntVector]] = {}
        for group, amounts in limits.items():
            if group in groups:
                known = [(position, amounts[name]) for name in amounts if (position := axis.index(name)) is not None]
                positions = np.array([position for position, _ in known], dtype=np.intp)
                self._limits[groups.index(group)] = (positions, np.array([most for _, most in known], dtype=np.int64))
        tasks, ledger = ssn.ledger.tasks, ssn.ledger
        rows = np.flatnonzero((ALLOCATED_STATUSES[tasks.status]) | (tasks.status == TaskStatus.PIPELINED))
        rows = rows[(tasks.job[rows] >= 0) & (tasks.node[rows] >= 0)]
        rows = rows[tasks.queue[rows] == slot]
        self._held = np.zeros((len(groups) + 1, len(axis)), dtype=np.int64)
        # the last row takes what is on nodes without a group
        np.add.at(self._held, codes[tasks.node[rows]], ledger.classes.request[tasks.task_class[rows]])

    def move(self, placement: Placement, sign: int) -> None:
        """Tasks were placed (1) or taken away (-1); those that are charged to other queues do not count."""
        nodes = placement.nodes[self._tasks.queue[placement.rows] == self._slot]
        groups, counts = np.unique(self._codes[nodes], return_counts=True)
        for group, count in zip(groups.tolist(), counts.tolist(), strict=True):
            self._held[group] += sign * count * placement.task_class.request

    def full(self, task_class: TaskClass) -> NDArray[np.bool_]:
        """[N] nodes of groups in which one more task of the class would go beyond a limit."""
        beyond = np.zeros(len(self._held), dtype=np.bool_)
        for group in self._limits:
            beyond[group] = self._is_beyond(group, task_class, self._held[group])
        assert not beyond[ABSENT], "nodes without a group have no limit"
        full: NDArray[np.bool_] = beyond[self._codes]
        return full

    def may_pass(self, task_class: TaskClass, nodes: NDArray[np.bool_]) -> bool:
        """Whether one of these nodes [N] is in a full group that would take a task of the class if the queue held
        nothing there."""
        return any(
            self._is_beyond(group, task_class, self._held[group])
            and not self._is_beyond(group, task_class, np.zeros_like(self._held[group]))
            for group in np.unique(self._codes[nodes]).tolist()
            if group in self._limits
        )

    def _is_beyond(self, group: int, task_class: TaskClass, held: IntVector) -> bool:
        """Whether one more task of the class is too much for the group, with so much held in it."""
        positions, most = self._limits[group]
        request = task_class.request[positions]
        return bool(((held[positions] + request > most) & (request > 0)).any())
