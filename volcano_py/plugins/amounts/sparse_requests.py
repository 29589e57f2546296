"""Requests of pods as plain numbers. Every turn of every job reads them, and arrays would be slow there."""

from __future__ import annotations

from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

SparseRequest = tuple[tuple[int, int], ...]
"""(position on the resource axis, units) of what is asked for."""


def asked_together(ledger: Ledger, tasks: Rows) -> SparseRequest:
    """What the tasks ask for in all."""
    total = ledger.classes.request[ledger.tasks.task_class[tasks]].sum(axis=0).tolist()
    return tuple((dim, units) for dim, units in enumerate(total) if units)


class RequestsByClass:
    """What one task of each class asks for, worked out when it is first needed."""

    def __init__(self) -> None:
        self._known: dict[int, SparseRequest] = {}

    def __getitem__(self, task_class: TaskClass) -> SparseRequest:
        asked = self._known.get(task_class.row)
        if asked is None:
            asked = tuple((dim, int(task_class.request[dim])) for dim in task_class.requested.tolist())
            self._known[task_class.row] = asked
        return asked
