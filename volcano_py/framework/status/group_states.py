"""How PodGroups stand when a cycle ends, as the tables have it: their phases, and which of them there is to judge."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Job
from volcano_py.state.snapshot import PHASES, Phase
from volcano_py.state.status import FINISHED_STATUSES, READY_STATUSES, SCHEDULED_STATUSES, TaskStatus
from volcano_py.state.table.columns import JobTable
from volcano_py.state.table.table import NOWHERE, Rows

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

_SCHEDULED = np.flatnonzero(SCHEDULED_STATUSES)
_FINISHED = np.flatnonzero(FINISHED_STATUSES)
_READY = np.flatnonzero(READY_STATUSES)
_UNSTARTED = [TaskStatus.PENDING, TaskStatus.ALLOCATED, TaskStatus.PIPELINED]
_UNPLACED = [*_UNSTARTED, TaskStatus.BINDING]
_COUNTED = [TaskStatus.RUNNING, TaskStatus.SUCCEEDED, TaskStatus.FAILED]


class GroupState(NamedTuple):
    """One PodGroup.

    Attributes:
        phase: follows from its tasks; Unknown is decided with the job's verdict.
        counts: tasks that run, have succeeded, have failed.
        has_tasks: whether there are any.
        has_ready_tasks: whether any count towards the gang.
        is_ready: whether the job is ready for certain; if not, plugins have to be asked.
        waits: whether any are without a place, or with one that was not handed to the binder.
        is_about_to_run: whether bindings of this cycle make enough of its tasks scheduled within moments.
    """

    job: Job
    phase: Phase
    counts: tuple[int, int, int]
    has_tasks: bool
    has_ready_tasks: bool
    is_ready: bool
    waits: bool
    is_about_to_run: bool


class GroupStates:
    """Those of all PodGroups of the session."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._jobs: JobTable = ssn.ledger.jobs

    def counts(self, row: int) -> tuple[int, int, int]:
        """status.running, succeeded and failed of the PodGroup in this row."""
        running, succeeded, failed = self._jobs.counts[row, _COUNTED].tolist()
        return running, succeeded, failed

    def will_run(self, rows: Rows | int) -> NDArray[np.bool_]:
        """[K], of one row [], whether bindings that are under way make enough of the PodGroup's tasks scheduled."""
        binding = self._jobs.counts[rows, TaskStatus.BINDING]
        will_run: NDArray[np.bool_] = (binding > 0) & (self._scheduled[rows] + binding >= self._jobs.min_member[rows])
        return will_run

    def settle(self, found: Rows) -> Iterator[GroupState]:
        """Give PodGroups their phases: those that wait, and those whose phase or counts differ from the API server's.

        Of resting ones only those that are `found` to have something new.
        """
        rows, phases = self._ssn.job_rows(), self._phases()
        unplaced = _have_any(self._jobs.counts[rows][:, _UNPLACED])
        now = phases[rows]
        not_running = (now != Phase.RUNNING) & (now != Phase.COMPLETED)
        stirs = np.ones(self._jobs.size, dtype=np.bool_)
        stirs[list(self._ssn.resting)] = False
        is_found = np.zeros(self._jobs.size, dtype=np.bool_)
        is_found[found] = True
        rows = rows[(unplaced | not_running | self._differs(rows, now)) & stirs[rows] | is_found[rows]]
        self._jobs.change(rows).phase[rows] = phases[rows]
        return self._of(rows)

    def _of(self, rows: Rows) -> Iterator[GroupState]:
        counts = self._jobs.counts[rows]
        columns = zip(
            rows.tolist(),
            self._jobs.phase[rows].tolist(),
            counts[:, _COUNTED].tolist(),
            _have_any(counts).tolist(),
            _have_any(counts[:, _READY]).tolist(),
            self._ssn.ask.certainly_ready(rows).tolist(),
            _have_any(counts[:, _UNSTARTED]).tolist(),
            self._are_about_to_run(rows).tolist(),
            strict=True,
        )
        for row, phase, (running, succeeded, failed), *flags in columns:
            if (job := self._ssn.job(row)) is not None:
                yield GroupState(job, PHASES[phase], (running, succeeded, failed), *flags)

    def _differs(self, rows: Rows, phases: NDArray[np.int8]) -> NDArray[np.bool_]:
        """[K] whether counts, or the `phases` [K], differ from the stored PodGroup, or the phase from the assumed one,
        which may be provisional and never written."""
        jobs = self._jobs
        moved: NDArray[np.bool_] = (jobs.stored_phase[rows] != phases) | (jobs.phase[rows] != phases)
        moved |= (jobs.stored_counts[rows] != jobs.counts[rows][:, _COUNTED]).any(axis=1)
        return moved

    def _phases(self) -> NDArray[np.int8]:
        """[J] the phase of every PodGroup from its tasks; Unknown is decided with the job's verdict."""
        jobs, scheduled = self._jobs, self._scheduled
        finished = jobs.counts[:, _FINISHED].sum(axis=1)
        unplaced = _have_any(jobs.counts[:, _UNPLACED])
        enough = (scheduled >= jobs.min_member) & (scheduled > 0)
        complete = enough & (finished == scheduled) & ~unplaced
        sticky = (jobs.phase == Phase.INQUEUE) | (jobs.phase == Phase.UNKNOWN)
        phases = np.where(sticky, jobs.phase, Phase.PENDING)
        phases = np.where(enough, Phase.RUNNING, phases)
        result: NDArray[np.int8] = np.where(complete, Phase.COMPLETED, phases).astype(np.int8)
        return result

    @cached_property
    def _scheduled(self) -> NDArray[np.int64]:
        """[J] tasks that count as scheduled; leaving ones count while they have a node."""
        tasks, jobs = self._ssn.ledger.tasks, self._jobs
        leaving = np.flatnonzero((tasks.status == TaskStatus.RELEASING) & (tasks.node != NOWHERE) & (tasks.job >= 0))
        on_nodes = np.bincount(tasks.job[leaving], minlength=jobs.size)
        scheduled: NDArray[np.int64] = jobs.counts[:, _SCHEDULED].sum(axis=1) + on_nodes
        return scheduled

    def _are_about_to_run(self, rows: Rows) -> NDArray[np.bool_]:
        """[K] whether bindings of this cycle do so within moments; with volumes that must be created first it takes
        minutes."""
        ssn, binding = self._ssn, TaskStatus.BINDING
        begun: NDArray[np.bool_] = self._jobs.counts[rows, binding] > ssn.snapshot.ledger.jobs.counts[rows, binding]
        if ssn.findings.claim_bindings:
            begun &= ~np.isin(rows, ssn.ledger.tasks.job[list(ssn.findings.claim_bindings)])
        return np.asarray(begun & self.will_run(rows))


def _have_any(counts: NDArray[np.int32]) -> NDArray[np.bool_]:
    """[K] whether any of the counts [K, S] is not zero."""
    found: NDArray[np.bool_] = np.any(counts, axis=1)
    return found
