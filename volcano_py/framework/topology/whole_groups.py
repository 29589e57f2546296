"""How many whole sub-groups each domain has room for: counted over all domains at once, before any is tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.framework.views import Counts
from volcano_py.state.status import PLACED_STATUSES
from volcano_py.state.table.table import Rows
from volcano_py.state.topology.tree import ROOT

Shape = tuple[int, tuple[tuple[int, int], ...]]
"""The number of a policy, and (class row, tasks) of what a sub-group of it still needs."""


class WholeGroups:
    """What all domains [H] have room for of what a job needs at once, now or (`later`) once pods that leave are gone.

    Each shape of sub-group is counted by itself, so a domain may turn out to have less room, but never more.
    """

    def __init__(self, ssn: Session, job: Job, tasks: Rows, *, later: bool) -> None:
        """`tasks` are those that wait for a place."""
        groups = ssn.sub_groups(job)
        assert groups is not None, "a job without sub-groups"
        self._ssn = ssn
        self._job = job
        self._groups = groups
        self._later = later
        self._found = ssn.in_sub_groups(job, PLACED_STATUSES)
        self._sums: dict[int, Counts] = {}
        self._loose, self._open = self._divide(tasks)
        self._room = {shape: self._capacity(shape) for shape in self._open}

    def enough(self) -> NDArray[np.bool_]:
        """[H] where there is room for the sub-groups that each policy lacks, and for the job's minimum of pods."""
        job = self._job
        enough = self.pods() >= job.min_member - job.ready - job.waiting - job.best_effort_pending
        for policy, lacking in enumerate(self._groups.lacking(self._found).tolist()):
            if lacking:
                rooms = [room for (number, _), room in self._room.items() if number == policy]
                enough &= sum(rooms, np.zeros(len(enough), dtype=np.int64)) >= lacking
        return enough

    def pods(self) -> Counts:
        """[H] how many tasks there is room for, those of sub-groups in whole ones."""
        total = np.zeros(len(self._ssn.topology.tree), dtype=np.int64)
        for row, count in self._loose.items():
            total += np.minimum(self._sum(row), count)
        for (_, classes), room in self._room.items():
            total += room * sum(count for _, count in classes)
        return total

    def _divide(self, tasks: Rows) -> tuple[Mapping[int, int], dict[Shape, list[int]]]:
        """What waits: class row → tasks in no sub-group, and shape → the sub-groups of it that can be complete."""
        groups, classes = self._groups, self._ssn.ledger.tasks.task_class[tasks]
        group = groups.group[np.searchsorted(groups.rows, tasks)]
        shapes: dict[Shape, list[int]] = {}
        for at in np.unique(group[group >= 0]).tolist():
            counts = Counter(classes[group == at].tolist())
            if self._found[at] + counts.total() >= groups.size[at]:
                shapes.setdefault((int(groups.policy[at]), tuple(sorted(counts.items()))), []).append(at)
        return Counter(classes[group < 0].tolist()), shapes

    def _capacity(self, shape: Shape) -> Counts:
        """[H] how many of the sub-groups of the shape fit. In a domain that is wider than one may be, it is what fits
        into the widest allowed ones inside it."""
        tree, topology = self._ssn.topology.tree, self._ssn.topology
        _, classes = shape
        most = len(self._open[shape])
        room: Counts = np.min([self._sum(row) // count for row, count in classes] + [np.full(len(tree), most)], axis=0)
        limit = topology.limit(self._job, self._groups.numbers[self._open[shape][0]])
        if limit is None or not topology.is_structured():
            return room
        allowed = topology.eligible(limit)
        is_widest = allowed.copy()
        is_widest[ROOT + 1 :] &= ~allowed[tree.parent[ROOT + 1 :]]
        total = np.concatenate(([0], np.cumsum(np.where(is_widest, room, 0))))
        return np.where(allowed, room, np.minimum(total[tree.end] - total[:-1], most))

    def _sum(self, row: int) -> Counts:
        """[H] for how many tasks of the class in that row there is room."""
        if row not in self._sums:
            ssn = self._ssn
            task_class = ssn.snapshot.classes[row]
            assert task_class is not None, "a task without a class"
            self._sums[row] = ssn.topology.tree.room(ssn.placer.most(task_class, later=self._later))
        return self._sums[row]
