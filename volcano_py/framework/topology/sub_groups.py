"""Sub-groups of a job (`spec.subGroupPolicy`): parts that are placed as a whole, each within its own limit."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Job
from volcano_py.state.table.table import Rows
from volcano_py.state.topology.limits import SubGroupPolicy, read_sub_group

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


class SubGroups(msgspec.Struct, frozen=True, eq=False):
    """The sub-groups of one job: G of them, by policy and by their values, and K tasks.

    Attributes:
        policies: of the PodGroup.
        numbers: [G] of each in the task table.
        names: [G] for messages: name of the policy and values.
        policy: [G] the number of its policy.
        size: [G] how many pods make it complete.
        rows: [K] all tasks of the job.
        group: [K] the sub-group of each; -1 for tasks that are in none.
    """

    policies: tuple[SubGroupPolicy, ...]
    numbers: tuple[int, ...]
    names: tuple[str, ...]
    policy: Counts
    size: Counts
    rows: Rows
    group: Rows

    def __len__(self) -> int:
        return len(self.numbers)

    def count(self, flags: Mask) -> Counts:
        """[G] how many tasks of each sub-group are marked in `flags` [K]."""
        counts: Counts = np.bincount(self.group[flags & (self.group >= 0)], minlength=len(self)).astype(np.int64)
        return counts

    def index(self, number: int) -> int:
        """The sub-group with that number in the task table."""
        return self.numbers.index(number)

    def lacking(self, found: Counts) -> Counts:
        """[P] how many more complete sub-groups each policy needs, if their tasks are as `found` [G]."""
        complete = self.policy[found >= self.size]
        minimum = np.array([policy.minimum for policy in self.policies], dtype=np.int64)
        lacking: Counts = np.maximum(minimum - np.bincount(complete, minlength=len(self.policies)), 0)
        return lacking

    def missing(self, found: Counts, waiting: Counts) -> int:
        """How many tasks have to be placed until each policy has its minimum, if so many are `found` [G] to have
        places, and so many `waiting` [G] for theirs: a sub-group without any is placed with all its tasks."""
        total = 0
        for policy, lacking in enumerate(self.lacking(found).tolist()):
            if lacking:
                open_ones = np.flatnonzero((self.policy == policy) & (found < self.size))
                needs = np.where(found > 0, self.size - found, np.maximum(waiting, self.size))[open_ones]
                total += int(needs[np.argsort(found[open_ones] == 0, kind="stable")][:lacking].sum())
                total += max(lacking - len(open_ones), 0)
        return total


def divide(job: Job, rows: Rows, names: list[str]) -> SubGroups | None:
    """The sub-groups of a job with tasks `rows`; None for a job without policies. `names` are those of the snapshot."""
    topology = job.info.topology
    if topology is None or not topology.policies:
        return None
    column = job.ledger.tasks.sub_group[rows]
    found = [(*read_sub_group(names[number]), number) for number in np.unique(column[column > 0]).tolist()]
    found.sort(key=lambda each: (each[0], _as_number(each[1][0]), each[1]))
    place = np.full(max((number for *_, number in found), default=0) + 1, -1, dtype=np.intp)
    for at, (*_, number) in enumerate(found):
        place[number] = at
    return SubGroups(
        policies=topology.policies,
        numbers=tuple(number for *_, number in found),
        names=tuple(" ".join((topology.policies[at].name, *values)).strip() for at, values, _ in found),
        policy=np.array([at for at, *_ in found], dtype=np.int64),
        size=np.array([topology.policies[at].size for at, *_ in found], dtype=np.int64),
        rows=rows,
        group=place[column],
    )


def _as_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else 0
