"""Turns of jobs of a single pod, in series: decided one by one, recorded and bound together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
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

    Attributes:
        placed: how many tasks were placed in such turns.
    """

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._series = ssn.statements.series()
        self._class: TaskClass | None = None
        self._nodes: Rows = np.zeros(0, dtype=np.intp)
        self.placed = 0
        self._room_until: dict[str, int] = {}
        """Queue → how much of `_class` may have been placed, in whichever queues, before it is asked for room again."""
        self._failed = ssn.dispatch.failures.closed
        calls = (call for point in _ASKED for call in ssn.dispatch.calls(point))
        self._are_allowed = (
            all(call.plugin.allows_series for call in calls)
            and not ssn.has_nominated_tasks
            and not ssn.reservations.has_promises
        )

    @property
    def task_class(self) -> TaskClass | None:
        """The class of the series; None when there is none."""
        return self._class

    def alike(self, works: Iterable[Work]) -> list[Work]:
        """Those that come first and would go on with the series."""
        task_class, classes = self._class, self._ssn.ledger.tasks.task_class
        if task_class is None:
            return []
        return list(takewhile(lambda work: _is_single(work) and classes[work.tasks[0]] == task_class.row, works))

    def take(self, work: Work) -> bool:
        """The turn of the job, if it is of this kind: True when there is nothing left to do for it.

        Otherwise nothing has changed, and all turns before are recorded.
        """
        if not self._are_possible or not _is_single(work):
            self.settle()
            return False
        job, row = work.job, work.tasks
        task_class = self._ssn.task_class(row.item(0))
        if not self._goes_on(task_class):
            return False
        if self._has_room(job, task_class):
            self._place(job, task_class, row)
        return True

    def take_all(self, works: Sequence[Work]) -> int:
        """The turns of jobs that go on with the series, in this order, where it is known that their queues have room;
        how many of them were possible."""
        task_class, taken = self._class, 0
        assert task_class is not None, "there is no series"
        while taken < len(works) and self._are_possible and self._goes_on(task_class):
            planned = len(self._nodes) - len(self._series)
            for work in works[taken : taken + planned]:
                self._place(work.job, task_class, work.tasks)
                taken += 1
        return taken

    @property
    def _are_possible(self) -> bool:
        return self._are_allowed and not self._failed and self._ssn.placer.expects_nothing

    def _goes_on(self, task_class: TaskClass) -> bool:
        """Whether the next node for the class is planned."""
        if task_class is self._class and len(self._series) < len(self._nodes):
            return True
        if task_class is not self._class:
            self._room_until.clear()
        self.settle()
        if not task_class.uses_amounts_only or self._ssn.ask.pre_predicate(task_class) is not None:
            return False
        self._nodes = self._ssn.placer.planned(task_class)
        if not len(self._nodes):
            return False
        self._class = task_class
        return True

    def _place(self, job: Job, task_class: TaskClass, row: Rows) -> None:
        at = len(self._series)
        self._series.allocate(job, task_class, row, self._nodes[at : at + 1])
        self.placed += 1

    def _has_room(self, job: Job, task_class: TaskClass) -> bool:
        """Whether the job's queue may take the task. Of the room it had, each task that was placed since has taken one
        place at most."""
        queue = job.queue
        if self.placed < self._room_until.get(queue.name, 0):
            return True
        room = self._ssn.ask.bindable(queue, task_class)
        if room.count <= 0:
            if room.refusal is not None:
                self._ssn.findings.note(job, room.refusal)
            return False
        self._room_until[queue.name] = self.placed + room.count
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
