"""What is known of jobs that rest, and whether it is still so: one comparison of rows and infos for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter, is_
from typing import Any, Final

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from volcano_py.api.report import PendingJob
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.resting.holdings import Thing
from volcano_py.framework.resting.lack_of_room import LackOfRoom, LacksOfRoom, RoomChange
from volcano_py.framework.resting.pods_in_sight import PodPlaces, Terms, terms_of_profile
from volcano_py.framework.resting.reports import is_same_group, is_same_pod
from volcano_py.state.infos import JobInfo, TaskInfo
from volcano_py.state.snapshot import Phase
from volcano_py.state.table.axis import ResourceAxis
from volcano_py.state.table.columns import JobTable, TaskTable
from volcano_py.state.table.table import Rows, Table
from volcano_py.state.task_class import TaskClass
from volcano_py.state.terms.pod_terms import PodTerm

# The class is compared by its signature: its row changes as other classes come and go. Labels alone change nothing that
# follows from nodes, nor do the pods among which a pod would be spread.
_TASK_COLUMNS: Final = tuple(sorted(TaskTable.columns.keys() - {"task_class", "labels", "spread"}))
# What the API server has of a status decides nothing. The phase is the one that was reported.
_JOB_COLUMNS: Final = tuple(sorted(JobTable.columns.keys() - {"phase", "stored_phase", "stored_counts"}))
# There may be thousands of jobs that rest, of which an event touches one, so the loops over all of them are in C.
_ROW: Final = attrgetter("row")
_INFO: Final = attrgetter("info")
_CLASS: Final = attrgetter("task_class")
_TASKS: Final = attrgetter("tasks")
_PHASE: Final = attrgetter("phase")


class Basis(msgspec.Struct, frozen=True, eq=False):
    """What every answer depends on."""

    offers_version: int
    queues_version: int
    axis: ResourceAxis
    configuration: SchedulerConfiguration
    offered: bytes = b""

    @classmethod
    def of(cls, cluster: ClusterCopy, configuration: SchedulerConfiguration) -> Basis:
        snapshot = cluster.snapshot
        return cls(snapshot.offers_version, snapshot.queues_version, cluster.axis, configuration, cluster.offered)

    def is_same(self, before: Basis) -> bool:
        """Whether an answer of then holds, unless what it is about has changed."""
        versions = (self.offers_version, self.queues_version, self.offered)
        then = (before.offers_version, before.queues_version, before.offered)
        return versions == then and self.is_comparable(before)

    def is_comparable(self, before: Basis) -> bool:
        """Whether a job of then can be compared with what it is now."""
        return self.axis is before.axis and self.configuration is before.configuration


class RestingTask(msgspec.Struct, frozen=True, eq=False):
    """`selected_by`: the terms that select it, if it goes by pods (pods_in_sight.py)."""

    row: int
    info: TaskInfo
    task_class: TaskClass
    selected_by: Terms | None = None

    def is_same(self, cluster: ClusterCopy) -> bool:
        if not is_same_pod(cluster.snapshot.tasks[self.row], self.info):
            return False
        now, known = cluster.task_class(self.row), self.task_class
        if self.selected_by is not None and self.selected_by != terms_of_profile(cluster.snapshot.terms, now.profile):
            return False
        return now is known or (now.signature == known.signature and now.variant == known.variant)

    def as_seen(self, cluster: ClusterCopy) -> RestingTask:
        """The same task, with what the cluster has of it now."""
        return replace(self, info=cluster.task_info(self.row), task_class=cluster.task_class(self.row))


class RestingJob(msgspec.Struct, frozen=True, eq=False):
    """One job that rests.

    Attributes:
        phase: of the PodGroup, as it was reported.
        lacks: why no node has room for it, one for each of its classes that were tried; empty if more room would not
            help, or that is not known.
        joins: what makes a pod open nodes to it by its coming.
        until: when it is looked at again even if nothing changes, in seconds since the epoch; 0 for never.
        stirs: whether it is looked at again whenever anything has changed, as it is not known what it waits for.
        is_skipped: whether it was skipped as a whole: no nodes were searched for it, and no evictions explained.
        is_admitted: whether enqueue has admitted it; otherwise it waits for that.
    """

    row: int
    info: JobInfo
    phase: Phase
    tasks: tuple[RestingTask, ...]
    reported: PendingJob
    lacks: tuple[LackOfRoom, ...]
    joins: frozenset[PodTerm | Thing] = frozenset()
    until: float = 0.0
    stirs: bool = False
    is_skipped: bool = False
    is_admitted: bool = True

    @property
    def may_get_room(self) -> bool:
        """Whether more room might help."""
        return bool(self.lacks) or self.stirs

    @property
    def waits_by_luck(self) -> bool:
        """Whether it might find room if some of its pods had taken other nodes."""
        return any(lack.places is None for lack in self.lacks)

    def is_same(self, cluster: ClusterCopy) -> bool:
        if not is_same_group(cluster.snapshot.jobs[self.row], self.info):
            return False
        return all(task.is_same(cluster) for task in self.tasks) and self._are_divided_as_before(cluster)

    def as_seen(self, cluster: ClusterCopy) -> RestingJob:
        """The same job, with what the cluster has of it now."""
        info = cluster.snapshot.jobs[self.row]
        assert info is not None, "a job that is gone"
        return replace(self, info=info, tasks=tuple(task.as_seen(cluster) for task in self.tasks))

    def on_other_ground(self) -> RestingJob:
        """The same job once nodes or queues have changed: why it waits is known of the past only."""
        return replace(self, lacks=(), joins=frozenset(), stirs=True)

    def _are_divided_as_before(self, cluster: ClusterCopy) -> bool:
        """Whether the same tasks as before are of one class: terms of others may divide a class by labels."""
        if len(self.tasks) == 1:
            return True
        pairs = {(task.task_class.row, cluster.task_class(task.row).row) for task in self.tasks}
        return len(pairs) == len({known for known, _ in pairs}) == len({now for _, now in pairs})


class _Rows(msgspec.Struct, frozen=True, eq=False):
    """Rows of a table, as they were in all columns that matter."""

    rows: Rows
    columns: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, table: Table, each: Sequence[RestingJob] | Sequence[RestingTask], names: Iterable[str]) -> _Rows:
        rows = np.fromiter(map(_ROW, each), np.intp, len(each))
        return cls(rows, {name: getattr(table, name)[rows] for name in names})

    def are_same(self, table: Table) -> NDArray[np.bool_]:
        """[K]"""
        same = np.ones(len(self.rows), dtype=np.bool_)
        for name, known in self.columns.items():
            equal = getattr(table, name)[self.rows] == known
            same &= equal if equal.ndim == 1 else equal.all(axis=1)
        return same


class _Lacks(msgspec.Struct, frozen=True, eq=False):
    """Why jobs that wait for room do not get it, each once.

    Attributes:
        free: [N, R] what was free, or will be, when all of it was true, and
        places: where pods were; None if none of it is about pods.
        jobs: [M] places of the jobs, and
        numbers: [M] which of `each` is about the job.
    """

    free: NDArray[np.int64]
    places: PodPlaces | None
    each: LacksOfRoom
    jobs: NDArray[np.intp]
    numbers: NDArray[np.intp]

    @classmethod
    def of(cls, jobs: Sequence[RestingJob], cluster: ClusterCopy) -> _Lacks:
        lacking = [(place, job.lacks) for place, job in enumerate(jobs) if job.lacks]
        each = {id(lack): lack for _, lacks in lacking for lack in lacks}
        number = {key: place for place, key in enumerate(each)}
        pairs = [(place, number[id(lack)]) for place, lacks in lacking for lack in lacks]
        places, numbers = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        all_lacks = LacksOfRoom(list(each.values()))
        pods = PodPlaces.of(cluster) if all_lacks.have_sight else None
        return cls(cluster.ledger.nodes.future_idle(), pods, all_lacks, places, numbers)

    def as_of(self, cluster: ClusterCopy) -> _Lacks:
        """The same for what is free now, and where pods are now: that concerns none of the jobs."""
        places = None if self.places is None else PodPlaces.of(cluster)
        return replace(self, free=cluster.ledger.nodes.future_idle(), places=places)

    def concerned(self, cluster: ClusterCopy) -> dict[int, int]:
        """Place of each job for which something of it is not true any more → how many of its pods may find room now at
        most; 0 if there is none, but the reason has changed."""
        if not len(self.each):
            return {}
        now = cluster.ledger.nodes.future_idle()
        if now.shape != self.free.shape:
            return dict.fromkeys(self.jobs.tolist(), 0)
        change = RoomChange.between(self.free, now, cluster.nodes.name_rank)
        holds, room = self.each.hold(change), self.each.room(change)
        if self.places is not None:
            moved = self.each.see(self.places.moves(PodPlaces.of(cluster)))
            holds, room = holds & ~moved, np.where(moved, 0, room)
        concerned = ~holds[self.numbers]
        places, numbers = self.jobs[concerned], self.numbers[concerned]
        found = dict.fromkeys(places.tolist(), 0)
        for place, count in zip(places.tolist(), room[numbers].tolist(), strict=True):
            found[place] += count
        return found


class Memory(msgspec.Struct, frozen=True, eq=False):
    """Jobs that rest, in the order of their rows in both tables. `owners`: [K] the place in `jobs` of each task;
    `phases`: [J] of the jobs."""

    jobs: tuple[RestingJob, ...]
    tasks: tuple[RestingTask, ...]
    owners: NDArray[np.intp]
    phases: NDArray[np.int8]
    job_rows: _Rows
    task_rows: _Rows
    lacks: _Lacks

    @classmethod
    def of(cls, jobs: tuple[RestingJob, ...], cluster: ClusterCopy, *, most_tasks: int) -> Memory:
        """The first of the jobs: so many that they have `most_tasks` together, one without tasks counting as one."""
        counts = np.fromiter(map(len, map(_TASKS, jobs)), np.intp, len(jobs))
        jobs = jobs[: np.searchsorted(np.maximum(counts, 1).cumsum(), most_tasks, side="right")]
        tasks = tuple[RestingTask, ...](chain.from_iterable(map(_TASKS, jobs)))
        ledger = cluster.snapshot.ledger
        return cls(
            jobs,
            tasks,
            np.repeat(np.arange(len(jobs)), counts[: len(jobs)]),
            np.fromiter(map(_PHASE, jobs), np.int8, len(jobs)),
            _Rows.of(ledger.jobs, jobs, _JOB_COLUMNS),
            _Rows.of(ledger.tasks, tasks, _TASK_COLUMNS),
            _Lacks.of(jobs, cluster),
        )

    def as_of(self, cluster: ClusterCopy) -> Memory:
        """The same for what is free now, and where pods are now."""
        return replace(self, lacks=self.lacks.as_of(cluster))

    def unchanged(self, cluster: ClusterCopy) -> list[RestingJob]:
        """The jobs for which nothing has changed, nodes apart."""
        ledger, jobs = cluster.snapshot.ledger, self.jobs
        same = self.job_rows.are_same(ledger.jobs) & (ledger.jobs.phase[self.job_rows.rows] == self.phases)
        same[self.owners[~self.task_rows.are_same(ledger.tasks)]] = False
        untouched, found = self._untouched(cluster).tolist(), list[RestingJob]()
        for place in np.flatnonzero(same).tolist():
            if untouched[place]:
                found.append(jobs[place])
            elif jobs[place].is_same(cluster):
                found.append(jobs[place].as_seen(cluster))
        return found

    def _untouched(self, cluster: ClusterCopy) -> NDArray[np.bool_]:
        """[J] whether everything known of the job is the very same object as it was."""
        snapshot, rows = cluster.snapshot, self.task_rows.rows
        found = _are(self.jobs, map(snapshot.jobs.__getitem__, self.job_rows.rows.tolist()))
        tasks = _are(self.tasks, map(snapshot.tasks.__getitem__, rows.tolist()))
        classes = map(snapshot.classes.__getitem__, cluster.ledger.tasks.task_class[rows].tolist())
        tasks &= np.fromiter(map(is_, classes, map(_CLASS, self.tasks)), np.bool_, len(rows))
        found[self.owners[~tasks]] = False
        return found

    def concerned(self, cluster: ClusterCopy) -> dict[int, int]:
        """Row of each job that what is free on nodes may concern now → how many of its pods may find room at most."""
        return {self.jobs[place].row: count for place, count in self.lacks.concerned(cluster).items()}


def _are(known: Sequence[RestingJob] | Sequence[RestingTask], now: Iterable[object]) -> NDArray[np.bool_]:
    """[K] whether the info of each is this very object."""
    return np.fromiter(map(is_, now, map(_INFO, known)), np.bool_, len(known))
