"""Turns of jobs of a single pod, in series: decided one by one, recorded and bound together."""

from __future__ import annotations

from typing import Final

import numpy as np

from volcano_py.actions.turns.turn import Work
from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

# What is asked while the tables lag behind.
_ASKED: Final = (
    "queue_order",
    "branch_order",
    "namespace_order",
    "overused",
    "allocatable",
    "pre_predicate",
    "job_ready",
    "on_allocate",
)


class SingleTurns:
    """Turns of jobs that need one more pod and are ready with it, as long as all pods are of one class.

    What a turn costs is mostly recording it. But which queue and job is next follows from what plugins know of the
    placements so far, and where pods of one class go is planned ahead. So the placements of a series are recorded when
    it ends: with the plan, or before the turn of a job of any other kind, which `Turn` gives.
    """

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._series = ssn.statements.series()
        self._class: TaskClass | None = None
        self._nodes: Rows = np.zeros(0, dtype=np.intp)
        self._placed = 0
        self._room_until: dict[str, int] = {}
        """Queue → how much of `_class` may have been placed, in whichever queues, before it is asked for room again."""
        self._failed = ssn.dispatch.failures.closed
        calls = (call for point in _ASKED for call in ssn.dispatch.calls(point))
        self._are_allowed = (
            all(call.plugin.allows_series for call in calls)
            and not ssn.has_nominated_tasks
            and not ssn.reservations.has_promises
        )

    def take(self, work: Work) -> bool:
        """The turn of the job, if it is of this kind: True when there is nothing left to do for it.

        Otherwise nothing has changed, and all turns before are recorded.
        """
        if not self._are_allowed or not _is_single(work) or self._failed or not self._ssn.placer.expects_nothing:
            self.settle()
            return False
        ssn, job, row = self._ssn, work.job, work.tasks
        task_class = ssn.task_class(row.item(0))
        position = len(self._series)
        if task_class is not self._class:
            self._room_until.clear()
        if task_class is not self._class or position == len(self._nodes):
            self.settle()
            if not task_class.uses_amounts_only or ssn.ask.pre_predicate(task_class) is not None:
                return False
            self._nodes, position = ssn.placer.planned(task_class), 0
            if not len(self._nodes):
                return False
            self._class = task_class
        if self._has_room(job, task_class):
            self._series.allocate(job, task_class, row, self._nodes[position : position + 1])
            self._placed += 1
        return True

    def _has_room(self, job: Job, task_class: TaskClass) -> bool:
        """Whether the job's queue may take the task. Of the room it had, each task that was placed since has taken one
        place at most."""
        queue = job.queue
        if self._placed < self._room_until.get(queue.name, 0):
            return True
        room = self._ssn.ask.bindable(queue, task_class)
        if room.count <= 0:
            if room.refusal is not None:
                self._ssn.findings.note(job, room.refusal)
            return False
        self._room_until[queue.name] = self._placed + room.count
        return True

    def settle(self) -> None:
        """Record the turns that were taken, and bind their pods."""
        if self._class is not None:
            self._ssn.placer.used(self._class, len(self._series))
            self._series.commit()
            self._class = None


def _is_single(work: Work) -> bool:
    job = work.job
    info = job.info
    return (
        len(work.tasks) == 1
        and info.min_member <= 1
        and not info.min_task_member
        and info.topology is None
        and not job.best_effort_pending
        and not work.failed_roles
    )
