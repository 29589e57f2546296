"""One attempt to plan evictions for a job: what is given, and how far evictions may go."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.planning.draft import Draft
from volcano_py.framework.eviction.scheme import Scheme
from volcano_py.framework.job import Job, Task
from volcano_py.framework.session import Session
from volcano_py.state.table.table import Rows


class Level(NamedTuple):
    """How far evictions may go.

    Attributes:
        whole: jobs may go whole.
        last_resort: queues may be left with less than they deserve.
    """

    whole: bool
    last_resort: bool


LEVELS: Final = (Level(False, False), Level(False, True), Level(True, False), Level(True, True))
"""In the order in which they are tried."""


class Attempt(msgspec.Struct, frozen=True, eq=False):
    """See the module.

    Attributes:
        pool: the pods that may be looked at, and what their jobs can give.
        scheme: what the action goes by.
        job: the job that starves.
        tasks: its tasks, in the order in which they get places.
        draft: what is placed and evicted for it.
        level: how far evictions may go.
    """

    ssn: Session
    pool: Candidates
    scheme: Scheme
    job: Job
    tasks: Rows
    draft: Draft
    level: Level

    def unplaced(self) -> Rows:
        """The tasks that have no place yet."""
        placed = set(self.draft.placed.tolist())
        return self.tasks[[row not in placed for row in self.tasks.tolist()]]

    def task(self, row: int) -> Task:
        """The task in that row."""
        return Task(row, self.job, self.ssn.task_class(row), int(self.ssn.ledger.tasks.priority[row]))

    def rest(self) -> Rows:
        """The tasks without a place that the gang still lacks."""
        return lacking(self.ssn, self.job, self.unplaced())


def lacking(ssn: Session, job: Job, unplaced: Rows) -> Rows:
    """Of the job's tasks without a place, those that its gang lacks; of a complete one, the first."""
    return unplaced[: max(1, ssn.ask.tasks_to_ready(job) - job.waiting)]
