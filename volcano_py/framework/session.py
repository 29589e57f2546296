"""The session of one cycle: a private copy of the cluster, the plugins, and what they answer together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.effects import Emit
from volcano_py.api.extender.client import ExtenderClient
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.framework.calls.chosen import admit
from volcano_py.framework.calls.combined import CombinedAnswers
from volcano_py.framework.calls.dispatch import Dispatch
from volcano_py.framework.calls.stand_ins import stand_in
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.devices.claim_users import RELEASES, jobs_awaiting_release
from volcano_py.framework.eviction.leaving import Leaving
from volcano_py.framework.eviction.reservations import Reservations
from volcano_py.framework.findings import Findings
from volcano_py.framework.job import FitError, Job
from volcano_py.framework.moves import Moves
from volcano_py.framework.placement.barred import Barred
from volcano_py.framework.placement.placer import Placer
from volcano_py.framework.placement.pod_counts import PodCounts
from volcano_py.framework.placement.variants import tell_apart
from volcano_py.framework.registry import Registry
from volcano_py.framework.resting.eviction_basis import evicting
from volcano_py.framework.resting.memory import RestingJob
from volcano_py.framework.resting.resting import Resting
from volcano_py.framework.resting.wait_basis import WaitBasis
from volcano_py.framework.statement import Statement, Statements
from volcano_py.framework.status.promise_times import PROMISES, PromiseTimes
from volcano_py.framework.status.wakeups import Wakeups
from volcano_py.framework.topology.topology import TREE, Topology
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.snapshot import Phase, Snapshot
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

T = TypeVar("T")

Memories = dict[str, dict[str, Any]]
"""Plugin name → what it remembers between cycles."""


class Session(ClusterCopy):
    """What plugins and actions work with: the cluster of this cycle, and the parts that work on it.

    The constructor builds the parts in order, each from those above it. A function could not do so from outside: the
    parts work on the session itself, which is the cluster to them.

    Attributes:
        action: the action that runs; empty before the first.
        extender: how the plugin `extender` asks its server; None where it may not, as in simulations.
        decides: whether actions run, or only statuses are brought up to date.
        dispatch: the plugins, and their calls by extension point.
        ask: what the plugins answer together.
        wakeups: times at which another cycle is due even if nothing changes.
        findings: why jobs wait, places that were given back, and the like.
        resting: job row → what is known of a job that this cycle skips, see resting/resting.py.
        promise_times: how long jobs have held promises that their pods do not use.
        topology: which nodes jobs that are kept together may use.
        placer: chooses nodes.
        statements: what is tried, committed or undone.
        reservations: places that pods were evicted for.
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
        used: Ledger | None = None,
        extender: ExtenderClient | None = None,
        decides: bool = True,
    ) -> None:
        super().__init__(snapshot, node_index, used)
        self.configuration = configuration
        self.extender = extender
        self.decides = decides
        self.emit = emit
        self.action = ""
        self._memories: Memories = {} if memories is None else memories
        self._shared: dict[Callable[[Session], Any], Any] = {}
        self.wakeups = Wakeups()
        self.findings = Findings()

        self.dispatch = Dispatch(configuration, registry)
        for plugin in self.dispatch.plugins:
            plugin.memory = self.memory(plugin.name)
        self.ask = CombinedAnswers(self.dispatch, self.ledger, self.queues)
        admit(self, self.dispatch)
        stand_in(self, self.dispatch)
        tell_apart(self, self.dispatch)
        resting = resting or Resting()
        self.resting: dict[int, RestingJob] = resting.recall(self, configuration)
        # If the PodGroup of one that was admitted is not stored yet, no other place says so.
        rests = [row for row, job in self.resting.items() if job.is_admitted]
        phases = self.ledger.jobs.change(rests).phase
        phases[rests] = np.maximum(phases[rests], Phase.INQUEUE)
        self._barred = Barred(self, self.dispatch, self.ask, resting.classes)
        self._pending = self._collect_pending()
        self.has_nominated_tasks = bool(self.ledger.tasks.nominated.any())

        self.moves = Moves(self, self.dispatch)
        self.topology = Topology(self, self.dispatch, self.memory(TREE))
        self.placer = Placer(self, self.dispatch, self.findings, tie_rank)
        self.statements = Statements(self, self.placer, self.findings, self.moves, emit)
        self.reservations = Reservations(
            self, self.ask, self.placer, self.statements, self.findings, self.topology, configuration.actions
        )
        self.promise_times = PromiseTimes(snapshot, configuration, self.memory(PROMISES))
        self._leaving: tuple[int, Leaving] | None = None

        self.open_seconds = self.dispatch.life("on_session_open", self)

    def dissolve(self) -> None:
        """Forget everything: the session is over.

        It, its parts and its plugins refer to each other, so their arrays, as large as the cluster, would stay until
        Python collects garbage. A cycle makes few objects, so that is seldom: with 1,000 nodes and 5,000 pods, 20 to 50
        sessions were alive at a time, and after 50 cycles the process had 181 MiB (later 217) instead of 76.
        """
        self.__dict__.clear()

    # -- tasks to place --------------------------------------------------------------------------------------------

    def _collect_pending(self) -> Rows:
        """Tasks that may be placed now, by job: pending, not gated, not backing off, without a problem; of jobs that
        neither rest nor wait for the release of devices."""
        tasks = self.ledger.tasks
        rows = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
        free = ~tasks.gated[rows] & (tasks.retry_at[rows] <= self.now)
        rests = np.zeros(self.ledger.jobs.size, dtype=np.bool_)
        rests[[*self.resting, *jobs_awaiting_release(self, self.memory(RELEASES))]] = True
        rows = rows[free & ~self.hopeless_classes[tasks.task_class[rows]] & ~rests[tasks.job[rows]]]
        return rows[np.argsort(tasks.job[rows], kind="stable")]

    @cached_property
    def wait_basis(self) -> WaitBasis | None:
        """Why jobs get no room, as things stood when the session opened; None when that cannot be said."""
        return WaitBasis.of(self, self.dispatch, evicts=bool(evicting(self.configuration.actions)))

    def wake(self, resting: Resting) -> None:
        """End the rest of jobs that a change concerns, for this cycle."""
        if woken := resting.wake(self, self.ask, lambda: self.wait_basis):
            self.resting = {row: job for row, job in self.resting.items() if row not in woken}
            self._pending = self._collect_pending()
        if moment := resting.next_moment():
            self.wakeups.recheck_at(moment)

    def unenqueued_jobs(self) -> list[Job]:
        """Valid jobs that were not admitted yet, with or without tasks; without those that rest."""
        rows = self.job_rows()
        kept_out = rows[self.ledger.jobs.phase[rows] <= Phase.PENDING].tolist()
        jobs = [self.job(row) for row in kept_out if row not in self.resting]
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

    def admitted_jobs_to_place(self) -> Iterator[tuple[Job, Rows]]:
        """The same of admitted jobs, without those that get no turn."""
        found = list(self.jobs_with_pending_tasks())
        rows = np.array([job.row for job, _ in found], dtype=np.intp)
        are_admitted = (self.ledger.jobs.phase[rows] > Phase.PENDING).tolist()
        are_valid = self.ask.certainly_valid(rows).tolist()
        for (job, tasks), is_admitted, is_valid in zip(found, are_admitted, are_valid, strict=True):
            if is_admitted and not self.is_set_aside(job, tasks, is_valid=is_valid):
                yield job, tasks

    def is_set_aside(self, job: Job, rows: Rows, *, is_valid: bool = False) -> bool:
        """Whether an admitted job gets no turn for its tasks `rows`: it is not valid, or no node will take any of
        them, whatever is placed or leaves. The reason is noted. A task that was promised a place keeps its turn.

        `is_valid`: the plugins are known to find it valid.
        """
        if job.row in self.findings.set_aside:
            return True
        if (refusal := self.ask.job_valid(job, is_certain=is_valid)) is not None:
            self.findings.note(job, refusal)
            self.findings.put_aside(job, rows)
            return True
        if self.reservations.has_promises and self.reservations.promised(rows).any():
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
        found = (self.snapshot.classes[row] for row in sorted(set(self.ledger.tasks.task_class[rows].tolist())))
        return [each for each in found if each is not None]

    @property
    def pod_counts(self) -> PodCounts:
        """The number of pods that match terms, by node and domain, up to date at every moment."""
        return self.moves.pod_counts

    @property
    def leaving(self) -> Leaving:
        """The pods that are terminating on each node at this moment of the cycle; computed when first asked for."""
        if self._leaving is None or self._leaving[0] != self.moves.count:
            self._leaving = (self.moves.count, Leaving(self))
        return self._leaving[1]

    def enqueue(self, job: Job) -> None:
        """The PodGroup leaves Pending: its pods may be created and placed."""
        job.enter(Phase.INQUEUE)
        self.wakeups.of_jobs.pop(job.row, None)  # (that was about its admission)

    # -- from one cycle to the next --------------------------------------------------------------------------------

    def memory(self, plugin: str) -> dict[str, Any]:
        """What the plugin of that name remembers from cycle to cycle; empty after a restart and in another replica."""
        return self._memories.setdefault(plugin, {})

    def shared(self, make: Callable[[Session], T]) -> T:
        """What `make` returned when it was first called in this cycle: one object for all plugins that need it."""
        if make not in self._shared:
            self._shared[make] = make(self)
        found: T = self._shared[make]
        return found

    # -- doing -----------------------------------------------------------------------------------------------------

    def have_places(self, job: Job, placed: Rows) -> None:
        """The tasks have places now; earlier findings about them no longer hold."""
        tasks, rows = self.ledger.tasks, self.tasks_of(job)
        waiting = set(tasks.task_class[rows[tasks.status[rows] == TaskStatus.PENDING]].tolist())
        self.findings.placed(job, placed, waiting)

    def statement(self) -> Statement:
        """A new, empty statement."""
        return self.statements.new()
