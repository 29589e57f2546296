"""PodGroups as rows: how each stands, and why it waits as the scheduler would say now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import compress, count
from operator import is_not
from types import MappingProxyType
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.report import PendingJob
from volcano_py.api.wording.owned import telling_owner
from volcano_py.jobs.model import VolcanoJob
from volcano_py.state.infos import JobInfo
from volcano_py.state.snapshot import Phase, Snapshot
from volcano_py.state.status import FINISHED_STATUSES, ON_NODE_STATUSES, TaskStatus
from volcano_py.ui.board.judgement import Judgement
from volcano_py.ui.board.model import JobRow
from volcano_py.ui.board.refused import refused_rows

_ON_NODE: Final = np.flatnonzero(ON_NODE_STATUSES)
_FINISHED: Final = np.flatnonzero(FINISHED_STATUSES)
NO_JOBS: Final[Mapping[str, VolcanoJob]] = MappingProxyType({})
_KNOWN: Final = 0
_HELD: Final = 5
"""Columns of `_numbers`: whether it is known, and the first of what it holds."""


class Totals(msgspec.Struct):
    """Of many rows.

    Attributes:
        by_queue: queue and whether they wait → how many.
        placed, waiting: how many of their pods have a node, and how many have none.
    """

    by_queue: Counter[tuple[str, bool]] = msgspec.field(default_factory=Counter)
    placed: int = 0
    waiting: int = 0

    def add(self, rows: Iterable[JobRow], sign: int = 1) -> None:
        """Count the rows, or (-1) no longer."""
        for row in rows:
            self.by_queue[row.queue, bool(row.reason)] += sign
            self.placed += sign * row.placed
            self.waiting += sign * row.waiting

    def copy(self) -> Totals:
        return Totals(self.by_queue.copy(), self.placed, self.waiting)


class JobRows:
    """Makes again only the rows whose numbers, object or judgement differ: of ten thousand jobs, few do.

    Attributes:
        totals: of all rows.
    """

    def __init__(self) -> None:
        self.totals = Totals()
        self._totals = Totals()
        """Of those with a PodGroup and a queue, which are kept."""
        self._judgement: Judgement | None = None
        self._numbers: NDArray[np.int64] = np.zeros((0, 0), np.int64)
        self._infos: list[JobInfo | None] = []
        self._rows: dict[str, JobRow] = {}
        self._strangers: dict[str, JobRow] = {}

    def of(
        self, snapshot: Snapshot, judgement: Judgement, refused: Mapping[str, VolcanoJob] = NO_JOBS
    ) -> dict[str, JobRow]:
        """namespace/name → row; what waits without a PodGroup or a queue comes last. `refused`: PodGroup → its Job,
        where the status of that says why it gets no pods."""
        numbers, infos = _numbers(snapshot), snapshot.jobs
        due = self._due(numbers, snapshot, judgement)
        gone = {info.key for row in due if row < len(self._infos) and (info := self._infos[row]) is not None}
        made = {
            info.key: _row(snapshot, row, info, numbers[row], judgement)
            for row in due
            if row < len(infos) and (info := infos[row]) is not None and numbers[row, _KNOWN]
        }
        came_or_went = any((key in self._rows) != (key in made) for key in gone | made.keys())
        if due:
            self._totals.add((self._rows[key] for key in gone | made.keys() if key in self._rows), sign=-1)
            self._totals.add(made.values())
            kept = (
                {key: each for key, each in self._rows.items() if key not in gone} if gone - made.keys() else self._rows
            )
            self._rows = kept | made
        if came_or_went or judgement is not self._judgement:
            strangers = judgement.pending.keys() - self._rows.keys()
            self._strangers = {name: _stranger(why) for name, why in judgement.pending.items() if name in strangers}
        self._judgement, self._numbers, self._infos = judgement, numbers, infos
        self.totals = self._totals.copy()
        self.totals.add(self._strangers.values())
        rows = self._rows | self._strangers
        said = refused_rows(rows, refused)
        self.totals.add(row for key, row in said.items() if key not in rows)
        return rows | said if said else rows

    def _due(self, numbers: NDArray[np.int64], snapshot: Snapshot, judgement: Judgement) -> list[int]:
        """Rows of the table that differ from those before. Loops over all of them are in C."""
        before, infos = self._judgement, snapshot.jobs
        if before is None or self._numbers.shape[1] != numbers.shape[1]:
            return list(range(max(len(infos), len(self._infos))))
        both = min(len(infos), len(self._infos))
        differ = (self._numbers[:both] != numbers[:both]).any(axis=1)
        due = {*np.flatnonzero(differ).tolist(), *range(both, max(len(infos), len(self._infos)))}
        due.update(compress(count(), map(is_not, self._infos, infos)))
        if before is not judgement:
            due.update(compress(count(), map(_judged_otherwise(before, judgement).__contains__, snapshot.job_keys)))
        return sorted(due)


def _judged_otherwise(before: Judgement, now: Judgement) -> set[str]:
    """Jobs of which two judgements say different things."""
    old, new = before.pending, now.pending
    moved = compress(new, map(is_not, map(old.get, new), new.values()))
    return {key for key in moved if old.get(key) != new[key]} | (old.keys() - new.keys()) | (before.jobs ^ now.jobs)


def _numbers(snapshot: Snapshot) -> NDArray[np.int64]:
    """[J, …] what rows are made of: whether a job is known; its placed, waiting and finished tasks; priority; what it
    holds."""
    jobs = snapshot.ledger.jobs
    return np.column_stack(
        (
            jobs.known,
            jobs.counts[:, _ON_NODE].sum(axis=1),
            jobs.counts[:, TaskStatus.PENDING],
            jobs.counts[:, _FINISHED].sum(axis=1),
            jobs.priority,
            jobs.allocated,
        )
    )


def _row(snapshot: Snapshot, row: int, info: JobInfo, numbers: NDArray[np.int64], judgement: Judgement) -> JobRow:
    _, placed, waiting, finished, priority = numbers[:_HELD].tolist()
    why, known_by = judgement.pending.get(info.key), telling_owner(info.key, info.owner)
    if not waiting and placed >= info.min_member:
        why = None  # it has been placed since
    return JobRow(
        key=info.key,
        queue=info.queue,
        state=_state(info, placed, why, is_judged=info.key in judgement.jobs),
        owner=f"{known_by.kind} {known_by.name}" if known_by is not None else "",
        minimum=info.min_member,
        placed=placed,
        waiting=waiting,
        finished=finished,
        reason=str(why.reason.value) if why is not None else "",
        message=_sentence(why) if why is not None else "",
        priority=priority,
        created=float(snapshot.ledger.jobs.created[row]),
        allocated=snapshot.ledger.axis.amounts(numbers[_HELD:]),
    )


def _state(info: JobInfo, placed: int, why: PendingJob | None, *, is_judged: bool) -> str:
    if why is not None:
        return "Partly running" if placed else "Waiting"
    if placed:
        return "Running"
    if Phase.of(info.phase) is Phase.COMPLETED:
        return "Completed"
    return "Starting" if is_judged else "New"


def _stranger(why: PendingJob) -> JobRow:
    reason, message = str(why.reason.value), _sentence(why)
    return JobRow(why.name, why.queue, "Waiting", waiting=why.pending, reason=reason, message=message)


def _sentence(job: PendingJob) -> str:
    return job.message.removeprefix(f"{job.reason.value}: ")
