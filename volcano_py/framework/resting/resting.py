"""Jobs that rest: no node will take any of their pods until nodes change, and that has been reported.

A resting job costs a cycle one comparison: it is not evaluated, gets no turn, and its status is not computed again. It
rests until the PodGroup, one of its pods, a queue, a node or the configuration changes; a job that waits for nothing
but room (see room_waits.py), also until a change of what is free on nodes concerns it, or its queue has reached a
ceiling; one that waits for other pods, or for what they hold, until one of these moves, or may do so in the cycle (see
pods_in_sight.py); and in any case until something else changes that plugins go by (see wait_basis.py), which may be
the time, or where pods might be evicted for it, anything that evictions follow from (see eviction_basis.py). One that
is not admitted, or of which it is not known what it waits for, rests until anything has changed. What a cycle
decides is the same as if nothing were kept, unless too many wake at once (see backlog.py). So is what it reports, with
one exception: what is placed in a cycle enters the reasons of jobs that rest for room in the next one. So does what may
be evicted for them after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from copy import copy
from typing import Final, Protocol

import numpy as np
from msgspec.structs import replace

from volcano_py.config.model import SchedulerConfiguration
from volcano_py.framework.calls.combined import CombinedAnswers
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.resting.backlog import Backlog
from volcano_py.framework.resting.eviction_basis import evicting, has_moved
from volcano_py.framework.resting.holdings import Thing
from volcano_py.framework.resting.lack_of_room import LackOfRoom
from volcano_py.framework.resting.looks import budget
from volcano_py.framework.resting.memory import Basis, Memory, RestingJob, RestingTask
from volcano_py.framework.resting.pods_in_sight import terms_of_profile
from volcano_py.framework.resting.reports import Report
from volcano_py.framework.resting.wait_basis import WaitBasis
from volcano_py.framework.resting.waking import at_ceilings, first_of_equals, those_that_may_join
from volcano_py.framework.status.wakeups import earliest
from volcano_py.state.nodes.index import Kept
from volcano_py.state.snapshot import Phase
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.terms.pod_terms import PodTerm

_MOST_TASKS: Final = 100_000
"""At some 2 KB each, a job without tasks counting as one; jobs beyond that are looked at in every cycle."""


class Waits(Protocol):
    """What a finished cycle knows of jobs that wait (room_waits.py)."""

    def basis(self) -> WaitBasis | None:
        """What else it follows from that jobs get no room; None when that is not known."""

    def lacks_of(self, row: int) -> Sequence[LackOfRoom]:
        """Why the job in that row, which may rest, gets no room; nothing if it does not wait for room alone."""

    def until(self, row: int) -> float:
        """When the clock alone may change what becomes of the job; 0 for never."""

    def may_rest(self, row: int) -> bool:
        """Whether the job in that row waits, and nothing about it is about to change."""

    def is_skipped(self, row: int) -> bool:
        """Whether the job was skipped as a whole: no nodes were searched for it, and no evictions explained."""

    def unexplained(self) -> Set[int]:
        """Rows of jobs at which a later cycle has to look, to explain why nothing is evicted for them."""


class Resting:
    """The memory of them between cycles. `classes` are the answers about classes, see barred.py."""

    def __init__(self) -> None:
        self.classes = Kept()
        self._basis: Basis | None = None
        self._memory: Memory | None = None
        self._recalled: list[RestingJob] = []
        self._awake: set[int] = set()
        """Rows of those recalled jobs that this cycle looks at all the same."""
        self._is_ground_new = True
        """Whether nodes or queues have changed since the last cycle."""
        self._backlog = Backlog()
        self._waits: WaitBasis | None = None
        """Why those that rest for room get none; None when there are none, or it is not known."""

    def recall(self, cluster: ClusterCopy, configuration: SchedulerConfiguration) -> dict[int, RestingJob]:
        """Job row → what is known of it, for all jobs that rest, with those that `wake` may name."""
        now, before = Basis.of(cluster, configuration), self._basis
        if before is None or not now.is_comparable(before):
            self._memory = None
        self._recalled = [] if self._memory is None else self._memory.unchanged(cluster)
        self._is_ground_new = before is None or not now.is_same(before)
        if self._is_ground_new:
            self._basis, self.classes, self._memory = now, Kept(), None
            self._recalled = [job.on_other_ground() for job in self._recalled]
        self._awake = set()
        return {job.row: job for job in self._recalled}

    def wake(self, cluster: ClusterCopy, ask: CombinedAnswers, basis: Callable[[], WaitBasis | None]) -> Set[int]:
        """Rows of jobs that do not rest in this cycle after all: room that has come or gone may concern them, or
        something else that it follows from that they get none (`basis` as it is now), or their queue may hold no more
        by now; if these are many, only some of them (backlog.py). Only once the plugins are open."""
        jobs, backlog, places = {job.row: job for job in self._recalled}, self._backlog, 0
        backlog.begin(cluster, jobs)
        backlog.add(jobs if self._is_ground_new else self._that_follow_from_more(basis))
        if backlog.is_new:
            concerned = {} if self._memory is None else self._memory.concerned(cluster)
            places = max(concerned.values(), default=0)
            backlog.add(self._that_may_be_concerned(cluster, ask, concerned))
        most = budget(places, is_ground_new=self._is_ground_new)
        self._awake = backlog.choose(cluster, jobs, most)
        if backlog.is_new:
            joining = those_that_may_join(cluster, self._recalled, self._awake)
            backlog.add(joining)
            self._awake |= backlog.choose(cluster, jobs, most, among=joining)
        return self._awake

    def next_moment(self) -> float:
        """When the clock may change what becomes of jobs that rest in this cycle, in seconds since the epoch; 0 for
        never."""
        own = (job.until for job in self._recalled if job.row not in self._awake)
        return earliest(self._backlog.kept_moment, *own)

    def _that_follow_from_more(self, basis: Callable[[], WaitBasis | None]) -> Iterator[int]:
        """Rows of those that rest for room although more than that has changed, or may have."""
        waiting = [job for job in self._recalled if job.lacks]
        now, before = basis() if waiting else None, self._waits
        if not self._backlog.is_new and (now is None or before is None):
            return iter(())
        others, lucky = (now is not None and now.holds(before, by_luck=each) for each in (False, True))
        return (job.row for job in waiting if not (others and (lucky or not job.waits_by_luck)))

    def _that_may_be_concerned(
        self, cluster: ClusterCopy, ask: CombinedAnswers, concerned: Mapping[int, int]
    ) -> set[int]:
        """Rows of the recalled jobs. `concerned`: those for which what is free has changed, see `Memory.concerned`."""
        found = {job.row for job in self._recalled if job.stirs or 0 < job.until <= cluster.now}
        others = [job for job in self._recalled if job.row not in self._backlog]
        found.update(first_of_equals(cluster, ask, others, concerned))
        found.update(at_ceilings(cluster, ask, others))
        return found

    @property
    def _evicts(self) -> bool:
        """Whether a configured action may evict pods for jobs that wait."""
        return self._basis is not None and bool(evicting(self._basis.configuration.actions))

    def forget(self) -> None:
        """Look at every job again in the next cycle."""
        self._memory = None

    def copy(self) -> Resting:
        """What is known now; later cycles of the one change nothing of the other."""
        copied = copy(self)  # nothing else that is kept is changed in place, but for answers, which are true for both
        copied._backlog = self._backlog.copy()
        return copied

    def remember(
        self,
        cluster: ClusterCopy,
        set_aside: Mapping[int, Rows],
        reports: Mapping[int, Report],
        waits: Waits,
        *,
        has_acted: bool,
        next_moment: float,
    ) -> bool:
        """After a deciding cycle.

        Args:
            set_aside: the tasks of jobs that got no turn, by job row.
            reports: of jobs of which there is nothing more to say, by job row.
            has_acted: see `Backlog.end`.
            next_moment: see there.

        Returns:
            whether the next cycle is due at once: it looks at jobs that rested in this one, as there were too many, or
            because of what this one has placed; or at such as this one has left unexplained.
        """
        memory = self._memory
        concerned = {} if memory is None else memory.concerned(cluster)
        awake = self._awake
        kept = [
            job for job in self._recalled if job.row not in awake or self._is_as_before(job, concerned, reports, waits)
        ]
        new = self._new(cluster, set_aside, reports, {job.row for job in kept}, waits)
        jobs = (*kept, *new)
        if memory is not None and memory.jobs == jobs:
            self._memory = memory.as_of(cluster)
        else:
            self._memory = Memory.of(jobs, cluster, most_tasks=_MOST_TASKS)
        self._waits = waits.basis() if any(job.lacks for job in jobs) else None
        # A cycle without news that has not acted has tried places and given them back, as the next one would.
        if self._backlog.is_new or has_acted:
            late = {job.row for job in self._recalled if job.lacks and job.row not in self._awake}
            may_be_taken = self._evicts and has_moved(cluster)
            self._backlog.add(late if may_be_taken else late & concerned.keys())
        self._backlog.end(cluster, self._awake, has_acted=has_acted, next_moment=next_moment)
        if unexplained := waits.unexplained():
            self._backlog.add(job.row for job in jobs if job.row in unexplained)
        return bool(self._backlog)

    def _is_as_before(
        self, job: RestingJob, concerned: Mapping[int, int], reports: Mapping[int, Report], waits: Waits
    ) -> bool:
        """Whether what is known of a job is true at which the cycle has looked. `concerned`: see `Memory.concerned`."""
        row = job.row
        if self._is_ground_new or row in concerned or self._backlog.is_old(row) or not waits.may_rest(row):
            return False
        report = reports.get(row)
        is_said = report is not None and report.job == job.reported and not report.written
        return is_said and waits.until(row) == job.until and not (job.stirs and waits.lacks_of(row))

    @staticmethod
    def _new(
        cluster: ClusterCopy,
        set_aside: Mapping[int, Rows],
        reports: Mapping[int, Report],
        known: Set[int],
        waits: Waits,
    ) -> list[RestingJob]:
        """The jobs that rest from now on."""
        new: list[RestingJob] = []
        for row, report in reports.items():
            info = cluster.snapshot.jobs[row]
            if info is None or row in known:
                continue
            is_hopeless = _is_hopeless(cluster, set_aside, row)
            lacks, stirs = tuple[LackOfRoom, ...](), False
            if not is_hopeless and waits.may_rest(row):
                lacks = tuple(waits.lacks_of(row))
                stirs = not lacks
            if is_hopeless or lacks or stirs:
                tasks = cluster.tasks_of_row(row)
                sights = [lack.sight for lack in lacks if lack.sight is not None]
                pods, group = report.pods(), report.group(info)
                new.append(
                    RestingJob(
                        row=row,
                        info=group,
                        phase=Phase.of(group.phase),
                        tasks=tuple(_task(cluster, task, pods, goes_by_pods=bool(sights)) for task in tasks.tolist()),
                        reported=report.job if group is info else replace(report.job, phase=group.phase),
                        lacks=lacks,
                        joins=frozenset[PodTerm | Thing]().union(*(sight.opened_by() for sight in sights)),
                        until=waits.until(row),
                        stirs=stirs,
                        is_skipped=waits.is_skipped(row),
                        is_admitted=Phase(int(cluster.ledger.jobs.phase[row])).is_admitted,
                    )
                )
        return new


def _is_hopeless(cluster: ClusterCopy, set_aside: Mapping[int, Rows], job: int) -> bool:
    """Whether all tasks of an admitted job wait, and only a change of the task or of nodes can give one a place: it is
    gated or malformed, or was set aside."""
    tasks, rows = cluster.ledger.tasks, cluster.tasks_of_row(job)
    hopeless = tasks.gated[rows] | cluster.hopeless_classes[tasks.task_class[rows]]
    if (aside := set_aside.get(job)) is not None:
        hopeless |= np.isin(rows, aside)
    is_inqueue = cluster.ledger.jobs.phase[job] == Phase.INQUEUE
    return bool(len(rows) and is_inqueue and hopeless.all() and (tasks.status[rows] == TaskStatus.PENDING).all())


def _task(cluster: ClusterCopy, row: int, written: Mapping[str, tuple[str, str]], *, goes_by_pods: bool) -> RestingTask:
    """`written`: see `Report.pods`."""
    info, task_class = cluster.task_info(row), cluster.task_class(row)
    if (on_its_way := written.get(info.ref.uid)) is not None:
        info = replace(info, on_its_way=on_its_way)
    selected_by = terms_of_profile(cluster.snapshot.terms, task_class.profile) if goes_by_pods else None
    return RestingTask(row, info, task_class, selected_by)
