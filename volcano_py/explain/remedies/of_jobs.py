"""The end of the smallest set of jobs: searched by what each would free, and verified by running the scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.wording.summarize import counted
from volcano_py.cluster.manifests import VOLCANO_JOB
from volcano_py.explain.limits import limits
from volcano_py.explain.model import Limit, Remedy
from volcano_py.explain.remedies.candidate import Candidate, helps
from volcano_py.explain.status.now import now
from volcano_py.explain.target import Target, first_waiting, queues_below
from volcano_py.explain.world import Change, World
from volcano_py.framework.job import Job
from volcano_py.framework.views import FITS
from volcano_py.jobs.model import VolcanoJob
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

_MOST_JOBS: Final = 16
"""A longer list is no remedy that a reader could use."""
_MOST_DROPPED: Final = 6
"""Jobs that are tried to be left out of a set that is enough."""


def jobs_that_end(world: World, target: Target) -> Iterator[Candidate]:
    """The fewest jobs whose end is enough, of equal ones those with the fewest pods."""
    found = first_waiting(world, target)
    if found is None:
        return
    running = [job for job in world.jobs.values() if job.allocated_tasks and job.key != target.group]
    gain = _gain(world, target, found[1], running)
    jobs = gain.enough_for(gain.wanted)
    if jobs and not helps(world, target, _end_of(world, jobs)):
        more = gain.enough_for(gain.wanted + gain.ahead)
        is_larger = len(jobs) < len(more) < _MOST_JOBS
        jobs = more if is_larger and helps(world, target, _end_of(world, more)) else []
    if jobs:
        yield _end_of(world, _needed(world, target, jobs))


def _waiting_ahead(world: World, target: Target) -> Rows:
    """Tasks of the jobs of its queue that have their turn earlier; they may take what is free."""
    ssn, own = world.session, world.jobs.get(target.group)
    if own is None:
        return np.zeros(0, dtype=np.intp)
    key = ssn.ask.job_key(own)
    others = [job for job in world.jobs.values() if job.pending_tasks and job.queue is own.queue]
    rows = [ssn.tasks_of(job) for job in others if job is not own and ssn.ask.job_key(job) < key]
    found: Rows = np.concatenate([np.zeros(0, dtype=np.intp), *rows])
    waiting: Rows = found[ssn.ledger.tasks.status[found] == TaskStatus.PENDING]
    return waiting


def _needed(world: World, target: Target, jobs: list[Job]) -> list[Job]:
    """Those without which the others are not enough."""
    for job in jobs[::-1][:_MOST_DROPPED] if len(jobs) > 1 else []:
        others = [each for each in jobs if each is not job]
        if others and helps(world, target, _end_of(world, others)):
            jobs = others
    return jobs


def _gain(world: World, target: Target, task_class: TaskClass, running: Sequence[Job]) -> _Amounts | _Places:
    """What counts: room below the queue, or in the quota, that binds, else places on nodes."""
    chain = limits(world, target, now(world, target), None)
    binding = next((limit for limit in chain if limit.binding), None)
    if binding is not None and binding.kind in ("queue", "quota") and binding.resource:
        kept = _within(world, binding, target)
        inside = [
            job for job in running if (job.queue.name in kept if binding.kind == "queue" else job.namespace in kept)
        ]
        amounts = _Amounts(world, target, binding, inside)
        if amounts.wanted > 0 and inside:
            return amounts
    return _Places(world, target, task_class, running)


def _within(world: World, limit: Limit, target: Target) -> set[str]:
    return queues_below(world, limit.name) if limit.kind == "queue" else {target.name.partition("/")[0]}


class _Amounts:
    """Of one resource.

    Attributes:
        wanted: how much too little there is.
        ahead: how much those before it ask for.
    """

    def __init__(self, world: World, target: Target, limit: Limit, jobs: Sequence[Job]) -> None:
        name = limit.resource.removeprefix("requests.").removeprefix("limits.")
        names, most = world.session.ledger.axis.names, limit.limit
        if limit.kind == "queue" and most is None:
            most = limit.deserved
        self.wanted = self.ahead = 0
        if name in names and most is not None:
            self.wanted = limit.used + limit.promised + limit.asked + limit.kept_for_others - most
            dim = names.index(name)
            ledger, rows = world.session.ledger, _waiting_ahead(world, target)
            self.ahead = int(ledger.classes.request[ledger.tasks.task_class[rows], dim].sum())
            self._held = [(int(job.allocated[dim]), job) for job in jobs if job.allocated[dim]]

    def enough_for(self, wanted: int) -> list[Job]:
        """The jobs to end for so much; all that are considered where it is not enough."""
        jobs: list[Job] = []
        left = list(self._held)
        while wanted > 0 and left and len(jobs) < _MOST_JOBS:
            best = min(left, key=lambda each: (-min(each[0], wanted), each[1].allocated_tasks, each[1].key))
            left.remove(best)
            jobs.append(best[1])
            wanted -= best[0]
        return jobs


class _Places:
    """Of pods like the first that waits.

    Attributes:
        wanted: for how many there has to be room.
        ahead: how many wait before it.
    """

    def __init__(self, world: World, target: Target, task_class: TaskClass, jobs: Sequence[Job]) -> None:
        ssn = world.session
        tasks, nodes = ssn.ledger.tasks, ssn.ledger.nodes
        self.wanted = max(target.need - (world.placed(target.group) if target.group else 0), 1)
        self.ahead = len(_waiting_ahead(world, target))
        self._jobs = {job.row: job for job in jobs}
        self._request = task_class.request
        self._dims = task_class.requested
        self._free = nodes.allocatable - nodes.used
        self._free[(ssn.placer.codes(task_class) != FITS) | ~nodes.present] = 0
        rows = np.flatnonzero(ON_NODE_STATUSES[tasks.status] & (tasks.node >= 0) & (tasks.job >= 0))
        rows = rows[np.isin(tasks.job[rows], list(self._jobs))]
        pairs, at = np.unique(np.stack([tasks.job[rows], tasks.node[rows]]), axis=1, return_inverse=True)
        self._job, self._node = pairs[0], pairs[1]
        self._freed = np.zeros((pairs.shape[1], self._free.shape[1]), dtype=np.int64)
        np.add.at(self._freed, at.reshape(-1), ssn.ledger.classes.request[tasks.task_class[rows]])
        closed = ssn.placer.codes(task_class)[self._node] != FITS
        self._freed[closed] = 0

    def enough_for(self, wanted: int) -> list[Job]:
        """The jobs to end for so many places; all that are considered where it is not enough."""
        free, left, jobs = self._free.copy(), np.ones(len(self._job), dtype=np.bool_), list[Job]()
        have = int(self._room(free).sum())
        while have < wanted and left.any() and len(jobs) < _MOST_JOBS:
            gains = self._room(free[self._node] + self._freed) - self._room(free[self._node])
            found = np.bincount(self._job, weights=np.where(left, gains, 0)).astype(np.int64).tolist()
            rows = np.unique(self._job[left]).tolist()
            best = min(rows, key=partial(self._rank, found, wanted - have))
            pairs = (self._job == best) & left
            np.add.at(free, self._node[pairs], self._freed[pairs])
            left[pairs] = False
            jobs.append(self._jobs[best])
            have = int(self._room(free).sum())
        return jobs

    def _rank(self, gains: Sequence[int], short: int, row: int) -> tuple[int, int, str]:
        """The most of what is short first, then the fewest pods."""
        job = self._jobs[row]
        return -min(gains[row], short), job.allocated_tasks, job.key

    def _room(self, free: NDArray[np.int64]) -> NDArray[np.int64]:
        """[K] how many pods fit."""
        room = np.full(len(free), self.wanted + self.ahead, dtype=np.int64)
        for dim in self._dims.tolist():
            np.minimum(room, free[:, dim] // self._request[dim], out=room)
        return np.maximum(room, 0)


def _end_of(world: World, jobs: Sequence[Job]) -> Candidate:
    changes: list[Change] = []
    for job in jobs:
        group = world.group(job.key)
        changes += [
            Change(VOLCANO_JOB, owner.metadata.key, None)
            for owner in world.objects(VOLCANO_JOB, VolcanoJob)
            if group is not None and owner.owns(group.metadata)
        ]
        changes += [Change("Pod", pod.metadata.key, None) for pod in world.pods_by_group.get(job.key, ())]
        changes.append(Change("PodGroup", job.key, None))
    names = " and ".join(f"{job.key} ({counted(job.allocated_tasks, 'pod')})" for job in jobs)
    return Candidate(
        Remedy("end", f"wait for the end of {names}, or delete {'it' if len(jobs) == 1 else 'them'}"), tuple(changes)
    )
