"""The session of one cycle: a private copy of the cluster, the plugins, and what they answer together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.effects import Effect
from volcano_py.api.reasons import Reason
from volcano_py.api.report import PendingJob
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.framework.calls.combined import CombinedAnswers
from volcano_py.framework.calls.dispatch import Dispatch
from volcano_py.framework.eviction.leaving import Leaving
from volcano_py.framework.eviction.reservations import Reservations
from volcano_py.framework.findings import Findings
from volcano_py.framework.job import FitError, Job, Placement
from volcano_py.framework.placement.barred import Barred
from volcano_py.framework.placement.placer import Placer
from volcano_py.framework.placement.pod_counts import PodCounts
from volcano_py.framework.placement.variants import tell_apart
from volcano_py.framework.refusals import Refusals
from volcano_py.framework.registry import Registry
from volcano_py.framework.statement import Statement
from volcano_py.framework.status.promise_times import PromiseTimes
from volcano_py.framework.status.resting import Resting
from volcano_py.framework.status.wakeups import Wakeups
from volcano_py.framework.views import Codes
from volcano_py.state.infos import TaskInfo
from volcano_py.state.job_priority import effective_priorities
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.snapshot import Phase, Snapshot
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.ledger import Rows
from volcano_py.state.task_class import Refusal, TaskClass

T = TypeVar("T")

Emit = Callable[[Sequence[Effect]], None]
Memories = dict[str, dict[str, Any]]
"""Plugin name → what it remembers between cycles."""


class Session:
    """What plugins and actions work with.

    Attributes:
        snapshot: the frozen picture; never changed.
        ledger: the session's own copy of the books.
        ask: what the plugins answer together.
        nodes: labels, taints and images of all nodes as columns.
        total: [R] allocatable of all nodes together.
        now: seconds since the epoch.
        wakeups: times at which another cycle is due even if nothing changes.
        findings: why jobs wait, places that were given back, and the like.
        resting: job row → what is reported of a job that nobody looks at in this cycle, see framework.resting.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        configuration: SchedulerConfiguration,
        registry: Registry,
        *,
        node_index: NodeIndex,
        emit: Emit,
        tie_rank: NDArray[np.int64],
        memories: Memories | None = None,
        resting: Resting | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.configuration = configuration
        self.ledger = snapshot.ledger.copy()
        self.ledger.jobs.priority = effective_priorities(self.ledger)
        self.axis = snapshot.ledger.axis
        self.nodes = node_index
        self.now = snapshot.now
        self.emit = emit
        self.wakeups = Wakeups()
        self._memories: Memories = {} if memories is None else memories
        self.total: IntVector = self.ledger.nodes.allocatable[self.ledger.nodes.present].sum(axis=0)
        self.queues = dict(snapshot.queues)
        self.findings = Findings()
        self.reservations = Reservations(self)
        self.promise_times = PromiseTimes(self)
        self.placements = 0
        """How often tasks were placed or taken away: while it stays the same, orders do."""
        self._refusals = Refusals()
        self._pod_counts: PodCounts | None = None
        self._leaving: tuple[int, Leaving] | None = None
        self._statements: list[Statement] = []
        self._shared: dict[Callable[[Session], Any], Any] = {}
        self._jobs: dict[int, Job] = {}
        self._by_job: tuple[Rows, NDArray[np.int32]] | None = None
        self.dispatch = Dispatch(configuration, registry)
        self.ask = CombinedAnswers(self.dispatch, self.ledger, self.queues)
        self.snapshot = tell_apart(self)
        self._classes = _ClassColumns(self.snapshot)
        resting = resting or Resting()
        self.resting: dict[int, PendingJob] = resting.recall(self)
        self._barred = Barred(self, resting.classes)
        self._is_queue = np.zeros(len(snapshot.queue_names) + 1, dtype=bool)  # by slot; the last is for -1, no queue
        self._is_queue[[queue.slot for queue in self.queues.values()]] = True
        self._pending = self._collect_pending()
        self.has_nominated_tasks = bool(self.ledger.tasks.nominated.any())
        self.absent_node = self.refusal(Reason.NODES_REFUSE, "node(s) did not exist", resolvable=False)
        self.open_seconds = self.dispatch.life("on_session_open", self)
        self.placer = Placer(self, tie_rank)

    def dissolve(self) -> None:
        """Forget everything; the session is over. It and its plugins refer to each other, and their arrays, as large as
        the cluster, would stay until Python looks for garbage.
        """
        self.__dict__.clear()

    # -- what there is ---------------------------------------------------------------------------------------------

    def _collect_pending(self) -> Rows:
        """Tasks that may be placed now, by job: pending, not gated, not backing off, without a problem, not resting."""
        tasks = self.ledger.tasks
        rows = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
        self._best_effort = np.zeros(self.ledger.jobs.size, dtype=np.int64)
        best_effort = rows[self._classes.best_effort[tasks.task_class[rows]] & ~tasks.gated[rows]]
        np.add.at(self._best_effort, tasks.job[best_effort], 1)
        free = ~tasks.gated[rows] & (tasks.retry_at[rows] <= self.now)
        rests = np.zeros(self.ledger.jobs.size, dtype=np.bool_)
        rests[list(self.resting)] = True
        rows = rows[free & ~self._classes.problem[tasks.task_class[rows]] & ~rests[tasks.job[rows]]]
        return rows[np.argsort(tasks.job[rows], kind="stable")]

    def job(self, row: int) -> Job | None:
        """The job of a row, None when its PodGroup or its queue does not exist."""
        job = self._jobs.get(row)
        if job is None:
            info = self.snapshot.jobs[row]
            queue = None if info is None else self.queues.get(info.queue)
            if info is None or queue is None:
                return None
            namespace = self.snapshot.namespaces[self.ledger.jobs.namespace[row]]
            job = Job(row, info, queue, namespace, self.ledger, int(self._best_effort[row]))
            self._jobs[row] = job
        return job

    def all_jobs(self) -> Iterator[Job]:
        """Every job of the session. Prefer columns: this costs a Python object per job."""
        for row in self.job_rows().tolist():
            job = self.job(row)
            if job is not None:
                yield job

    def job_rows(self) -> Rows:
        """Rows of all jobs whose PodGroup and queue exist."""
        jobs = self.ledger.jobs
        return np.flatnonzero(jobs.known & self.is_queue(jobs.queue))

    def is_queue(self, slots: NDArray[np.int32]) -> NDArray[np.bool_]:
        """[K] whether the queues in these slots exist."""
        exists: NDArray[np.bool_] = self._is_queue[slots]
        return exists

    def unenqueued_jobs(self) -> list[Job]:
        """Sound jobs that were not let in yet, with or without tasks."""
        rows = self.job_rows()
        phases = self.ledger.jobs.phase[rows]
        kept_out = rows[(phases == Phase.NONE) | (phases == Phase.PENDING)]
        jobs = [self.job(row) for row in kept_out.tolist()]
        return [job for job in jobs if job is not None and job.info.problem is None]

    def jobs_with_pending_tasks(self) -> Iterator[tuple[Job, Rows]]:
        """Jobs that have tasks to place, with the rows of those tasks; without those that rest."""
        tasks = self.ledger.tasks
        waiting = self._pending[tasks.status[self._pending] == TaskStatus.PENDING]
        jobs, counts = np.unique(tasks.job[waiting], return_counts=True)
        last = 0
        for row, count in zip(jobs.tolist(), counts.tolist(), strict=True):
            first, last = last, last + count
            job = self.job(row)
            if job is not None:
                yield job, waiting[first:last]

    def is_set_aside(self, job: Job, rows: Rows) -> bool:
        """Whether a job that was let in gets no turn for its tasks `rows`: it is not valid, or no node will take any of
        them, whatever is placed or leaves. Why is noted. A task that was promised a place keeps its turn.
        """
        if job.row in self.findings.set_aside:
            return True
        if (refusal := self.ask.job_valid(job)) is not None:
            self.findings.note(job, refusal)
            self.findings.put_aside(job, rows)
            return True
        if self.reservations.promised(rows).any():
            return False
        classes = [self.task_class(int(rows[0]))] if len(rows) == 1 else self._classes_of(rows)
        errors: list[FitError] = []
        for task_class in classes:
            error = self._barred.error(task_class)
            if error is None:
                return False
            errors.append(error)
        for task_class, error in zip(classes, errors, strict=True):
            self.findings.misfit(job, task_class, error)
        self.findings.put_aside(job, rows)
        return True

    def _classes_of(self, rows: Rows) -> list[TaskClass]:
        found = (self.snapshot.classes[row] for row in np.unique(self.ledger.tasks.task_class[rows]).tolist())
        return [each for each in found if each is not None]

    def task_class(self, row: int) -> TaskClass:
        """The class of a task row."""
        found = self.snapshot.classes[int(self.ledger.tasks.task_class[row])]
        assert found is not None, "a task without a class"
        return found

    def task_info(self, row: int) -> TaskInfo:
        found = self.snapshot.tasks[row]
        assert found is not None, "a task row without a task"
        return found

    @property
    def best_effort_classes(self) -> NDArray[np.bool_]:
        """[C] classes that ask for nothing but a pod's place."""
        return self._classes.best_effort

    @property
    def hopeless_classes(self) -> NDArray[np.bool_]:
        """[C] classes with a `problem`: no pod of theirs can be placed as it stands."""
        return self._classes.problem

    @property
    def has_best_effort_tasks(self) -> bool:
        """Whether any task that asks for nothing was pending when the session opened."""
        return bool(self._best_effort.any())

    def role_count(self, job: Job, role: int, statuses: Sequence[TaskStatus]) -> int:
        """Tasks of a role of the job in any of the statuses."""
        tasks, rows = self.ledger.tasks, self.tasks_of(job)
        return int(((tasks.role[rows] == role) & np.isin(tasks.status[rows], statuses)).sum())

    def tasks_of(self, job: Job) -> Rows:
        """Rows of all tasks of a job."""
        return self.tasks_of_row(job.row)

    def tasks_of_row(self, job_row: int) -> Rows:
        """Rows of all tasks of the job in that row, whether or not its PodGroup exists."""
        if self._by_job is None:
            jobs = self.ledger.tasks.job
            order = np.argsort(jobs, kind="stable")
            self._by_job = (order, jobs[order])
        order, sorted_jobs = self._by_job
        first, last = np.searchsorted(sorted_jobs, (job_row, job_row + 1))
        return order[first:last]

    def bound(self) -> int:
        """How many tasks this cycle has handed to the binder so far."""
        is_bound = self.ledger.tasks.status == TaskStatus.BINDING
        return int((is_bound & (self.snapshot.ledger.tasks.status == TaskStatus.PENDING)).sum())

    def sum_by_queue(self, per_job: NDArray[Any], rows: Rows) -> dict[str, NDArray[Any]]:
        """[R] sums of `per_job` [len(rows), R] by queue name, for all queues."""
        size = len(self.snapshot.queue_names)
        sums = np.zeros((size, per_job.shape[1]), dtype=per_job.dtype)
        slots = self.ledger.jobs.queue[rows]
        for column in range(per_job.shape[1]):  # column by column `add.at` is ten times as fast as on rows
            np.add.at(sums[:, column], slots, per_job[:, column])
        return {name: sums[queue.slot] for name, queue in self.queues.items()}

    def used_by_queue(self) -> dict[str, IntVector]:
        """[R] what is charged to each queue, of pods that are leaving, too, by queue name, for all queues."""
        used = self.ledger.queues.used()
        return {name: used[queue.slot] for name, queue in self.queues.items()}

    @property
    def pod_counts(self) -> PodCounts:
        """How many pods that match terms stand where; made when somebody first asks, true at every moment since."""
        if self._pod_counts is None:
            self._pod_counts = PodCounts(self)
        return self._pod_counts

    @property
    def leaving(self) -> Leaving:
        """Who is terminating where at this moment of the cycle; made when somebody asks."""
        if self._leaving is None or self._leaving[0] != self.placements:
            self._leaving = (self.placements, Leaving(self))
        return self._leaving[1]

    # -- refusals --------------------------------------------------------------------------------------------------

    def refusal(self, reason: Reason, message: str, *, resolvable: bool = True, transient: bool = False) -> int:
        """The id of a refusal, for arrays of codes.

        Not `resolvable`: the node says no whoever is evicted from it. `transient`: it may say yes once terminating pods
        are gone and promised places are taken; then it is asked again for that (`NodeView.released`), so that its room
        can be kept.
        """
        return self._refusals.code(Refusal(reason, message), resolvable=resolvable, transient=transient)

    def resolvable(self, codes: Codes) -> NDArray[np.bool_]:
        """[K] where the node says yes, or might once pods are evicted from it."""
        return self._refusals.resolvable(codes)

    def transient(self, codes: Codes) -> NDArray[np.bool_]:
        """[K] where the refusal may pass by itself."""
        return self._refusals.transient(codes)

    def refusal_of(self, code: int) -> Refusal:
        """The refusal of a code; one that nobody has registered is a plugin's mistake."""
        return self._refusals.of(code)

    def enqueue(self, job: Job) -> None:
        """The PodGroup leaves Pending: its pods may be created and placed."""
        self.ledger.jobs.phase[job.row] = Phase.INQUEUE

    # -- from one cycle to the next --------------------------------------------------------------------------------

    def memory(self, plugin: str) -> dict[str, Any]:
        """What the plugin of that name remembers from cycle to cycle; empty after a restart and in another replica."""
        return self._memories.setdefault(plugin, {})

    def shared(self, make: Callable[[Session], T]) -> T:
        """What `make` returned when it was first asked for in this cycle: one object for all plugins that need it."""
        if make not in self._shared:
            self._shared[make] = make(self)
        found: T = self._shared[make]
        return found

    # -- doing -----------------------------------------------------------------------------------------------------

    def have_places(self, job: Job, placed: Rows) -> None:
        """The tasks have places now, whatever was found of them earlier in the cycle."""
        tasks, rows = self.ledger.tasks, self.tasks_of(job)
        waiting = set(tasks.task_class[rows[tasks.status[rows] == TaskStatus.PENDING]].tolist())
        self.findings.placed(job, placed, waiting)

    def statement(self) -> Statement:
        made = Statement(self)
        self._statements.append(made)
        return made

    def undo_open_statements(self, since: int) -> None:
        """Discard what was neither committed nor discarded of the statements made since there were so many."""
        for statement in reversed(self._statements[since:]):
            statement.discard()

    @property
    def statements_made(self) -> int:
        return len(self._statements)

    def tell_allocated(self, placement: Placement) -> None:
        if self._pod_counts is not None:
            self._pod_counts.update(placement)
        self.placements += 1
        for call in self.dispatch.calls("on_allocate"):
            call(placement)

    def tell_deallocated(self, placement: Placement) -> None:
        if self._pod_counts is not None:
            self._pod_counts.update(placement)
        self.placements += 1
        for call in self.dispatch.calls("on_deallocate"):
            call(placement)


class _ClassColumns:
    """[C] what is asked of classes in bulk."""

    def __init__(self, snapshot: Snapshot) -> None:
        size = max(len(snapshot.classes), 1)
        self.best_effort = np.zeros(size, dtype=np.bool_)
        self.problem = np.zeros(size, dtype=np.bool_)
        for row, task_class in enumerate(snapshot.classes):
            if task_class is not None:
                self.best_effort[row] = task_class.best_effort
                self.problem[row] = task_class.problem is not None
