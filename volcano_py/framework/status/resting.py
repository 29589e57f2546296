"""Jobs that rest: no node will take any of their pods until nodes change, and that has been reported.

A resting job costs a cycle one comparison: it is not evaluated, gets no turn, and its status is not computed again. It
rests until the PodGroup, one of its pods, a queue, an existing node or the configuration changes. What a cycle decides
and reports is the same as if nothing were kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter, is_
from typing import Any, Final

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from volcano_py.api.report import PendingJob
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.state.infos import JobInfo, TaskInfo
from volcano_py.state.nodes.index import Kept
from volcano_py.state.snapshot import Phase
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import ResourceAxis
from volcano_py.state.table.columns import JobTable, TaskTable
from volcano_py.state.table.table import Rows, Table
from volcano_py.state.task_class import TaskClass

_MOST_TASKS: Final = 100_000
"""At some 2 KB each; jobs beyond that are looked at in every cycle."""

# The class is compared by its signature: its row changes as other classes come and go. Labels alone change nothing that
# follows from nodes, nor do the pods among which a pod would be spread.
_TASK_COLUMNS: Final = tuple(sorted(TaskTable.columns.keys() - {"task_class", "labels", "spread"}))
_JOB_COLUMNS: Final = tuple(sorted(JobTable.columns))
_INFO: Final = attrgetter("info")
_CLASS: Final = attrgetter("task_class")


class _Basis(msgspec.Struct, frozen=True, eq=False):
    """What every answer depends on."""

    offers_version: int
    queues_version: int
    axis: ResourceAxis
    configuration: SchedulerConfiguration

    def holds_for(self, cluster: ClusterCopy, configuration: SchedulerConfiguration) -> bool:
        snapshot = cluster.snapshot
        versions = (self.offers_version, self.queues_version)
        same = versions == (snapshot.offers_version, snapshot.queues_version)
        return same and self.axis is cluster.axis and self.configuration is configuration


class _Task(msgspec.Struct, frozen=True, eq=False):
    row: int
    info: TaskInfo
    task_class: TaskClass

    def is_same(self, cluster: ClusterCopy) -> bool:
        info = cluster.snapshot.tasks[self.row]
        if info is not self.info and not _says_the_same(info, self.info):
            return False
        now, known = cluster.task_class(self.row), self.task_class
        return now is known or (now.signature == known.signature and now.variant == known.variant)


class _Job(msgspec.Struct, frozen=True, eq=False):
    row: int
    info: JobInfo
    tasks: tuple[_Task, ...]
    reported: PendingJob

    def is_same(self, cluster: ClusterCopy) -> bool:
        info = cluster.snapshot.jobs[self.row]
        return (info is self.info or info == self.info) and all(task.is_same(cluster) for task in self.tasks)


class _Rows(msgspec.Struct, frozen=True, eq=False):
    """Rows of a table, as they were in all columns that matter."""

    rows: Rows
    columns: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, table: Table, rows: Iterable[int], names: Iterable[str]) -> _Rows:
        places = np.fromiter(rows, dtype=np.intp)
        return cls(places, {name: getattr(table, name)[places] for name in names})

    def are_same(self, table: Table) -> NDArray[np.bool_]:
        """[K]"""
        same = np.ones(len(self.rows), dtype=np.bool_)
        for name, known in self.columns.items():
            equal = getattr(table, name)[self.rows] == known
            same &= equal if equal.ndim == 1 else equal.all(axis=1)
        return same


class _Memory(msgspec.Struct, frozen=True, eq=False):
    """Jobs that rest, in the order of their rows in both tables. `owners`: [K] the place in `jobs` of each task."""

    jobs: tuple[_Job, ...]
    tasks: tuple[_Task, ...]
    owners: NDArray[np.intp]
    job_rows: _Rows
    task_rows: _Rows

    @classmethod
    def of(cls, jobs: tuple[_Job, ...], cluster: ClusterCopy) -> _Memory:
        ledger = cluster.snapshot.ledger
        tasks = tuple(task for job in jobs for task in job.tasks)
        return cls(
            jobs,
            tasks,
            np.repeat(np.arange(len(jobs)), [len(job.tasks) for job in jobs]),
            _Rows.of(ledger.jobs, (job.row for job in jobs), _JOB_COLUMNS),
            _Rows.of(ledger.tasks, (task.row for task in tasks), _TASK_COLUMNS),
        )

    def unchanged(self, cluster: ClusterCopy) -> list[_Job]:
        """The jobs for which nothing has changed."""
        ledger, jobs = cluster.snapshot.ledger, self.jobs
        same = self.job_rows.are_same(ledger.jobs)
        same[self.owners[~self.task_rows.are_same(ledger.tasks)]] = False
        untouched = self._untouched(cluster).tolist()
        return [
            jobs[place] for place in np.flatnonzero(same).tolist() if untouched[place] or jobs[place].is_same(cluster)
        ]

    def _untouched(self, cluster: ClusterCopy) -> NDArray[np.bool_]:
        """[J] whether everything known of the job is the very same object as it was. There may be thousands, of which
        an event touches one, so the loops are in C."""
        snapshot, rows = cluster.snapshot, self.task_rows.rows
        found = _are(self.jobs, map(snapshot.jobs.__getitem__, self.job_rows.rows.tolist()))
        tasks = _are(self.tasks, map(snapshot.tasks.__getitem__, rows.tolist()))
        classes = map(snapshot.classes.__getitem__, cluster.ledger.tasks.task_class[rows].tolist())
        tasks &= np.fromiter(map(is_, classes, map(_CLASS, self.tasks)), np.bool_, len(rows))
        found[self.owners[~tasks]] = False
        return found


class Resting:
    """The memory of them between cycles. `classes` are the answers about classes, see barred.py."""

    def __init__(self) -> None:
        self.classes = Kept()
        self._basis: _Basis | None = None
        self._memory: _Memory | None = None
        self._recalled: list[_Job] = []

    def recall(self, cluster: ClusterCopy, configuration: SchedulerConfiguration) -> dict[int, PendingJob]:
        """Job row → its report, for all jobs that rest."""
        if self._basis is None or not self._basis.holds_for(cluster, configuration):
            snapshot = cluster.snapshot
            self._basis = _Basis(snapshot.offers_version, snapshot.queues_version, cluster.axis, configuration)
            self.classes, self._memory = Kept(), None
        self._recalled = [] if self._memory is None else self._memory.unchanged(cluster)
        return {job.row: job.reported for job in self._recalled}

    def forget(self) -> None:
        """Look at every job again in the next cycle."""
        self._memory = None

    def remember(self, cluster: ClusterCopy, set_aside: Mapping[int, Rows], quiet: Mapping[int, PendingJob]) -> None:
        """After a deciding cycle: `quiet` are jobs about which everything has been reported, with their reports;
        `set_aside` are the tasks of jobs that got no turn, by job row."""
        new: list[_Job] = []
        for row, reported in quiet.items():
            info, tasks = cluster.snapshot.jobs[row], _hopeless_rows(cluster, set_aside, row)
            if info is not None and len(tasks):
                new.append(_Job(row, info, tuple(_task(cluster, task) for task in tasks.tolist()), reported))
        if new or self._memory is None or len(self._recalled) < len(self._memory.jobs):
            self._memory = _Memory.of(_bounded([*self._recalled, *new]), cluster)


def _hopeless_rows(cluster: ClusterCopy, set_aside: Mapping[int, Rows], job: int) -> Rows:
    """All tasks of an admitted job, if each waits and only a change of the task or of nodes can give it a place: it is
    gated or malformed, or was set aside. Otherwise none."""
    tasks, rows = cluster.ledger.tasks, cluster.tasks_of_row(job)
    hopeless = tasks.gated[rows] | cluster.hopeless_classes[tasks.task_class[rows]]
    if (aside := set_aside.get(job)) is not None:
        hopeless |= np.isin(rows, aside)
    is_inqueue = cluster.ledger.jobs.phase[job] == Phase.INQUEUE
    rests = is_inqueue and hopeless.all() and (tasks.status[rows] == TaskStatus.PENDING).all()
    return rows if rests else rows[:0]


def _task(cluster: ClusterCopy, row: int) -> _Task:
    return _Task(row, cluster.task_info(row), cluster.task_class(row))


def _are(known: Sequence[_Job] | Sequence[_Task], now: Iterable[object]) -> NDArray[np.bool_]:
    """[K] whether the info of each is this very object."""
    return np.fromiter(map(is_, now, map(_INFO, known)), np.bool_, len(known))


def _bounded(jobs: Sequence[_Job]) -> tuple[_Job, ...]:
    room, kept = _MOST_TASKS, []
    for job in jobs:
        if (room := room - len(job.tasks)) < 0:
            break
        kept.append(job)
    return tuple(kept)


def _says_the_same(now: TaskInfo | None, known: TaskInfo) -> bool:
    """Whether it is the same except for what our own status write echoes."""
    if now is None or now.reported != known.reported:
        return False
    return replace(now, condition=known.condition, on_its_way=known.on_its_way) == known
