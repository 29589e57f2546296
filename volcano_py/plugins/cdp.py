"""cdp: no victim for a while after it was scheduled (cool-down protection)."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Task
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows


class Cdp(Plugin):
    """Running pods with `volcano.sh/cooldown-time` (label, else annotation) are no victims for this long after they
    were scheduled. A time that cannot be read protects no pod."""

    name = "cdp"
    sees_jobs_alike = True
    guards = frozenset({"preemptable", "reclaimable"})
    only_protects = True
    protects_temporarily = True

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        self._tasks = ssn.ledger.tasks
        self._cooldown = np.full(self._tasks.size, np.nan)
        """[T] seconds; NaN where it has not been read yet."""

    def evictions_follow_from(self) -> Hashable:
        """Which pods are protected at this time, or would be if they ran."""
        tasks, now = self._tasks, self._ssn.now
        with_cooldown = ((row, info) for row, info in enumerate(self._ssn.snapshot.tasks) if info and info.cooldown)
        return tuple(row for row, info in with_cooldown if tasks.scheduled_at.item(row) + info.cooldown > now)

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:  # noqa: ARG002
        return ~self._protected(candidates)

    def _protected(self, candidates: Rows) -> NDArray[np.bool_]:
        for row in candidates[np.isnan(self._cooldown[candidates])].tolist():
            self._cooldown[row] = self._ssn.task_info(row).cooldown
        until = self._tasks.scheduled_at[candidates] + self._cooldown[candidates]
        running = self._tasks.status[candidates] == TaskStatus.RUNNING
        known = self._tasks.scheduled_at[candidates] > 0
        spared: NDArray[np.bool_] = running & known & (until > self._ssn.now)
        if spared.any():
            self._ssn.wakeups.recheck_at(float(until[spared].min()))
        return spared

    def protected_by(self, rows: Rows) -> str:
        until = float((self._tasks.scheduled_at[rows] + self._cooldown[rows]).max())
        return f"by a cool-down until {datetime.fromtimestamp(until, tz=UTC):%H:%M} UTC"

    def reclaimable(self, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_]:
        return self.preemptable(reclaimer, candidates)

    def spared_tasks(self, victims: Rows) -> NDArray[np.bool_]:
        return self._protected(victims)

    def possible_victims(self, point: str, task: Task, candidates: Rows) -> NDArray[np.bool_]:  # noqa: ARG002
        return self.preemptable(task, candidates)
