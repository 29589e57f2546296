"""conformance: pods that keep the cluster itself alive are never victims."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.names import SYSTEM_CRITICAL_PRIORITY_CLASSES
from volcano_py.framework.job import Task
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.state.infos import TaskInfo
from volcano_py.state.table.table import Rows

_SYSTEM_NAMESPACE: Final = "kube-system"
_UNKNOWN: Final = -1


class Conformance(Plugin):
    """Protects pods of the system-critical priority classes and of the namespace kube-system."""

    name = "conformance"
    sees_jobs_alike = True
    evictions_last = True
    guards = frozenset({"preemptable", "reclaimable"})
    only_protects = True

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        # What is known of a task row: candidates come again for every preemptor and node.
        self._allowed = np.full(ssn.ledger.tasks.size, _UNKNOWN, dtype=np.int8)

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:  # noqa: ARG002
        return self._expendable(candidates)

    def possible_victims(self, point: str, task: Task, candidates: Rows) -> NDArray[np.bool_]:  # noqa: ARG002
        return self.preemptable(task, candidates)

    def reclaimable(self, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_]:
        return self.preemptable(reclaimer, candidates)

    def protected_by(self, rows: Rows) -> str:  # noqa: ARG002
        return "as parts of the system"

    def spared_tasks(self, victims: Rows) -> NDArray[np.bool_]:
        return ~self._expendable(victims)

    def _expendable(self, rows: Rows) -> NDArray[np.bool_]:
        for row in rows[self._allowed[rows] == _UNKNOWN].tolist():
            self._allowed[row] = not _is_critical(self._ssn.task_info(row))
        allowed: NDArray[np.bool_] = self._allowed[rows] == 1
        return allowed


def _is_critical(task: TaskInfo) -> bool:
    return task.priority_class in SYSTEM_CRITICAL_PRIORITY_CLASSES or task.ref.namespace == _SYSTEM_NAMESPACE
