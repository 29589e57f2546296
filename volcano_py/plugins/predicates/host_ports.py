"""Which host ports are taken on which nodes, in this cycle.

Semantics are kube-scheduler's NodePorts filter: two pods conflict when they ask for the same protocol and port on the
same host address, and "0.0.0.0" is every address. A pod holds its ports from the moment it has a place until it is gone
from its node: one that is being deleted still listens, and the kubelet turns away who comes too early.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.few import few, plural
from volcano_py.framework.job import Placement
from volcano_py.framework.session import Session
from volcano_py.plugins.predicates.pods_there import on_nodes, settled
from volcano_py.state.ledger import NOWHERE, Rows
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.task_class import TaskClass

HostPort = tuple[str, str, int]
"""Host address, protocol, port."""

_EVERY_ADDRESS: Final = "0.0.0.0"

_HOLDS: Final = ON_NODE_STATUSES.copy()
_HOLDS[TaskStatus.PIPELINED] = True


def conflict(one: HostPort, other: HostPort) -> bool:
    """Whether two pods with these host ports cannot share a node."""
    return one[1:] == other[1:] and (one[0] == other[0] or _EVERY_ADDRESS in (one[0], other[0]))


class HostPorts:
    """Made when a class with host ports is first looked at; told of every placement from then on."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._tasks = ssn.ledger.tasks
        self._nodes = ssn.ledger.nodes.size
        self._classes: list[TaskClass] = [
            task_class for task_class in ssn.snapshot.classes if task_class is not None and task_class.host_ports
        ]
        self._held_at: NDArray[np.int32] = np.full(self._tasks.size, NOWHERE, dtype=np.int32)
        """[T] where a task with host ports holds them."""
        ported = np.zeros(ssn.ledger.classes.size, dtype=np.bool_)
        ported[[task_class.row for task_class in self._classes]] = True
        rows = np.flatnonzero(ported[self._tasks.task_class])
        self._held_at[rows] = self._holding(rows)
        self._takers: dict[HostPort, NDArray[np.int32]] = {}
        """Per host port that was asked for, [N] the tasks on each node that conflict with it."""

    def taken(self, wanted: Iterable[HostPort], rows: Rows) -> NDArray[np.bool_]:
        """[K] nodes on which any of the wanted ports is taken."""
        mask = np.zeros(len(rows), dtype=np.bool_)
        for port in wanted:
            mask |= self._takers_of(port)[rows] > 0
        return mask

    def advice(self, wanted: Iterable[HostPort], nodes: Rows) -> str:
        """Who has the wanted ports on these nodes, and what would help."""
        ports = [port for port in wanted if (self._takers_of(port)[nodes] > 0).any()]
        rivals = [
            each.row for each in self._classes if any(conflict(*pair) for pair in product(ports, each.host_ports))
        ]
        there = np.zeros(self._nodes + 1, dtype=np.bool_)  # the last is for NOWHERE
        there[nodes] = True
        holders = np.flatnonzero(there[self._held_at])
        holders = settled(self._ssn, holders[np.isin(self._tasks.task_class[holders], rivals)])
        who = on_nodes(self._ssn, holders)
        told, are = few([_written(port) for port in ports]), "is" if len(ports) == 1 else "are"
        return (
            f"{plural('Host port', len(ports))} {told} {are} taken{f' by {who}' if who else ''}: wait for that to end, "
            "or choose another hostPort"
        )

    def update(self, placement: Placement) -> None:
        """Tasks were placed, evicted or taken back; what holds is read off the books."""
        ports = placement.task_class.host_ports
        if not ports:
            return
        before, after = self._held_at[placement.rows], self._holding(placement.rows)
        self._held_at[placement.rows] = after
        for asked, takers in self._takers.items():
            if any(conflict(asked, port) for port in ports):
                np.subtract.at(takers, before[before != NOWHERE], 1)
                np.add.at(takers, after[after != NOWHERE], 1)

    def _holding(self, rows: Rows) -> NDArray[np.int32]:
        """[K] where the tasks are when they hold a place, else NOWHERE."""
        where: NDArray[np.int32] = np.where(_HOLDS[self._tasks.status[rows]], self._tasks.node[rows], NOWHERE)
        return where

    def _takers_of(self, port: HostPort) -> NDArray[np.int32]:
        takers = self._takers.get(port)
        if takers is None:
            rivals = [
                task_class.row
                for task_class in self._classes
                if any(conflict(port, other) for other in task_class.host_ports)
            ]
            nodes = self._held_at[np.isin(self._tasks.task_class, rivals)]
            counted = np.bincount(nodes[nodes != NOWHERE], minlength=self._nodes)
            takers = self._takers[port] = counted.astype(np.int32)
        return takers


def _written(port: HostPort) -> str:
    address, protocol, number = port
    return f"{number}/{protocol}" if address == _EVERY_ADDRESS else f"{number}/{protocol} of {address}"
