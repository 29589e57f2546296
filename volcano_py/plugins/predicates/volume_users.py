"""Which nodes have pods that use a claim, in this cycle: for claims that several pods use."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.session import Session
from volcano_py.framework.views import Counts
from volcano_py.state.ledger import NOWHERE, Ledger, Rows
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.task_class import TaskClass
from volcano_py.state.volume_needs import Shareable

Holds = NDArray[np.bool_]
"""[statuses] with which a pod holds its volumes."""

NOW: Final = ON_NODE_STATUSES.copy()
"""From the moment a pod has a place, or is promised one, until it is gone."""
NOW[TaskStatus.PIPELINED] = True
THEN: Final = NOW.copy()
"""The same once terminating pods are gone."""
THEN[TaskStatus.RELEASING] = False


def places_of(ledger: Ledger, rows: Rows, holds: Holds) -> NDArray[np.int32]:
    """[K] nodes of the tasks that hold their volumes, else NOWHERE."""
    where: NDArray[np.int32] = np.where(holds[ledger.tasks.status[rows]], ledger.tasks.node[rows], NOWHERE)
    return where


class VolumeUsers:
    """Counts are made when first asked for, and follow the placements from then on."""

    def __init__(self, ssn: Session, holds: Holds) -> None:
        self._ssn = ssn
        self._holds = holds
        self._on: dict[str, Counts] = {}

    def on(self, claim: str) -> Counts:
        """[N] pods on each node that use the claim (namespace/name)."""
        counts = self._on.get(claim)
        if counts is None:
            ledger = self._ssn.ledger
            classes = [
                each.row for each in self._ssn.snapshot.classes if each is not None and claim in _shared_by(each)
            ]
            nodes = places_of(ledger, np.flatnonzero(np.isin(ledger.tasks.task_class, classes)), self._holds)
            counted = np.bincount(nodes[nodes != NOWHERE], minlength=ledger.nodes.size)
            counts = self._on[claim] = counted.astype(np.int64)
        return counts

    def rows(self, claim: str) -> Rows:
        """[K] tasks that use the claim, ascending."""
        ledger = self._ssn.ledger
        classes = [each.row for each in self._ssn.snapshot.classes if each is not None and claim in _shared_by(each)]
        rows = np.flatnonzero(np.isin(ledger.tasks.task_class, classes))
        found: Rows = rows[places_of(ledger, rows, self._holds) != NOWHERE]
        return found

    def update(self, task_class: TaskClass, before: NDArray[np.int32], after: NDArray[np.int32]) -> None:
        """Pods of the class have moved from nodes [K] to nodes [K]."""
        if not self._on:
            return
        for claim in _shared_by(task_class):
            counts = self._on.get(claim)
            if counts is not None:
                np.subtract.at(counts, before[before != NOWHERE], 1)
                np.add.at(counts, after[after != NOWHERE], 1)


def _shared_by(task_class: TaskClass) -> frozenset[str]:
    return frozenset(need.claim for need in task_class.volumes if isinstance(need, Shareable) and need.claim)
