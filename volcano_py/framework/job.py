"""Jobs and tasks as plugins and actions see them: thin views on the session's tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from operator import itemgetter

import msgspec
import numpy as np

from volcano_py.state.infos import JobInfo, QueueInfo
from volcano_py.state.snapshot import PHASES, Phase
from volcano_py.state.status import ALLOCATED_STATUSES, READY_STATUSES, VALID_STATUSES, TaskStatus
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import Refusal, TaskClass

# Summing a handful of Python integers beats a numpy reduction over as many.
_ready = itemgetter(*np.flatnonzero(READY_STATUSES).tolist())
_valid = itemgetter(*np.flatnonzero(VALID_STATUSES).tolist())
_allocated = itemgetter(*np.flatnonzero(ALLOCATED_STATUSES).tolist())
_started = itemgetter(TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING)
_unstarted = itemgetter(TaskStatus.PENDING, TaskStatus.ALLOCATED, TaskStatus.PIPELINED)


class Job(msgspec.Struct, eq=False):
    """One PodGroup in a session. Its counts are always current."""

    row: int
    info: JobInfo
    queue: QueueInfo
    namespace: str
    ledger: Ledger
    best_effort_pending: int = 0
    """Pending tasks without requests; they count towards the gang before they are placed."""
    role_counts: Mapping[str, Mapping[TaskStatus, int]] | None = None

    @contextmanager
    def without_best_effort(self) -> Iterator[None]:
        """Inside, pending tasks without requests do not count: only tasks with a place make the job ready."""
        counted, self.best_effort_pending = self.best_effort_pending, 0
        try:
            yield
        finally:
            self.best_effort_pending = counted

    def placed(self, task_class: TaskClass, count: int) -> None:
        """Record that `count` more tasks of the class have places, or fewer if it is negative."""
        if task_class.best_effort:
            self.best_effort_pending -= count

    @property
    def _counts(self) -> list[int]:
        """Tasks by status."""
        counts: list[int] = self.ledger.jobs.counts[self.row].tolist()
        return counts

    @property
    def key(self) -> str:
        """namespace/name of the PodGroup."""
        return self.info.key

    @property
    def priority(self) -> int:
        """The priority of its class, at most the lowest priority of its pods."""
        return self.ledger.jobs.priority.item(self.row)

    @property
    def created(self) -> float:
        return self.ledger.jobs.created.item(self.row)

    @property
    def min_member(self) -> int:
        return self.info.min_member

    @property
    def phase(self) -> Phase:
        return PHASES[self.ledger.jobs.phase.item(self.row)]

    def enter(self, phase: Phase) -> None:
        """Move its PodGroup into this phase."""
        self.ledger.jobs.change(self.row).phase[self.row] = phase

    @property
    def is_pending(self) -> bool:
        """Not admitted by enqueue yet."""
        return self.ledger.jobs.phase.item(self.row) <= Phase.PENDING

    @property
    def min_resources(self) -> IntVector | None:
        """[R] spec.minResources, None when the PodGroup has none."""
        jobs = self.ledger.jobs
        if not jobs.has_min_resources.item(self.row):
            return None
        row: IntVector = jobs.min_resources[self.row]
        return row

    @property
    def allocated(self) -> IntVector:
        """[R] requests of tasks in an allocated status."""
        row: IntVector = self.ledger.jobs.allocated[self.row]
        return row

    def count(self, *statuses: TaskStatus) -> int:
        """Tasks in any of the statuses."""
        counts = self._counts
        return sum(counts[status] for status in statuses)

    @property
    def tasks(self) -> int:
        """All its tasks."""
        return sum(self._counts)

    @property
    def ready(self) -> int:
        """Tasks that count towards the gang: allocated or succeeded."""
        return sum(_ready(self._counts))

    @property
    def allocated_tasks(self) -> int:
        return sum(_allocated(self._counts))

    @property
    def started_tasks(self) -> int:
        """Tasks that are bound, or are being bound."""
        return sum(_started(self._counts))

    @property
    def unstarted_tasks(self) -> int:
        """Tasks that are not: without a place, or with one of this cycle that was not handed to the binder."""
        return sum(_unstarted(self._counts))

    @property
    def waiting(self) -> int:
        """Tasks placed on resources that are still being released."""
        return self.count(TaskStatus.PIPELINED)

    @property
    def valid_tasks(self) -> int:
        return sum(_valid(self._counts))

    @property
    def pending_tasks(self) -> int:
        return self.count(TaskStatus.PENDING)


class Task(msgspec.Struct, frozen=True, eq=False):
    """One task that victims are searched for."""

    row: int
    job: Job
    task_class: TaskClass
    priority: int


class Placement(msgspec.Struct, frozen=True, eq=False):
    """Tasks of one job and class that were placed, or removed, together."""

    job: Job
    task_class: TaskClass
    rows: Rows
    """[K] task rows."""
    nodes: Rows
    """[K] node rows."""
    status: TaskStatus = TaskStatus.ALLOCATED
    """Their new status: ALLOCATED, PIPELINED, or RELEASING for evictions."""

    @property
    def count(self) -> int:
        return len(self.rows)

    @property
    def request(self) -> IntVector:
        """[R] the sum of their requests."""
        return self.task_class.request * len(self.rows)


class FitError(msgspec.Struct, frozen=True):
    """Why tasks of a class found no node: each reason, with the number of nodes that gave it."""

    nodes: int
    counts: Mapping[str, int]
    refusal: Refusal
    """The reason that is reported, with its sentence."""

    @classmethod
    def of_all(cls, nodes: int, refusal: Refusal) -> FitError:
        """All nodes refuse for this one reason."""
        return cls(nodes, {refusal.message: nodes}, refusal)
