"""PodGroups as rows: how each stands, and why it waits as the scheduler would say now."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.report import PendingJob
from volcano_py.state.infos import JobInfo
from volcano_py.state.snapshot import Phase, Snapshot
from volcano_py.state.status import FINISHED_STATUSES, ON_NODE_STATUSES, TaskStatus
from volcano_py.ui.board.judgement import Judgement
from volcano_py.ui.board.model import JobRow

_ON_NODE: Final = np.flatnonzero(ON_NODE_STATUSES)
_FINISHED: Final = np.flatnonzero(FINISHED_STATUSES)
_KNOWN: Final = 0
_HELD: Final = 5
"""Columns of `_numbers`: whether it is known, and the first of what it holds."""


class JobRows:
    """Makes again only the rows whose numbers, object or judgement differ: of ten thousand jobs, few do."""

    def __init__(self) -> None:
        self._judgement: Judgement | None = None
        self._numbers: NDArray[np.int64] = np.zeros((0, 0), np.int64)
        self._infos: list[JobInfo | None] = []
        self._rows: dict[str, JobRow] = {}

    def of(self, snapshot: Snapshot, judgement: Judgement) -> dict[str, JobRow]:
        """namespace/name → row; what waits without a PodGroup or a queue comes last."""
        numbers, infos = _numbers(snapshot), snapshot.jobs
        keys = snapshot.job_keys
        due = self._due(numbers, infos, keys, judgement)
        gone = {info.key for row in due if row < len(self._infos) and (info := self._infos[row]) is not None}
        made = {
            info.key: _row(snapshot, row, info, numbers[row], judgement)
            for row in due
            if row < len(infos) and (info := infos[row]) is not None and numbers[row, _KNOWN]
        }
        if due:
            kept = (
                {key: each for key, each in self._rows.items() if key not in gone} if gone - made.keys() else self._rows
            )
            self._rows = kept | made
        self._judgement, self._numbers, self._infos = judgement, numbers, infos
        strangers = {name: _stranger(why) for name, why in judgement.pending.items() if name not in self._rows}
        return self._rows | strangers

    def _due(
        self, numbers: NDArray[np.int64], infos: list[JobInfo | None], keys: list[str], judgement: Judgement
    ) -> list[int]:
        """Rows of the table that differ from those before."""
        before = self._judgement
        if before is None or self._numbers.shape[1] != numbers.shape[1]:
            return list(range(max(len(infos), len(self._infos))))
        both = min(len(infos), len(self._infos))
        differ = (self._numbers[:both] != numbers[:both]).any(axis=1)
        due = {*np.flatnonzero(differ).tolist(), *range(both, max(len(infos), len(self._infos)))}
        due.update(row for row, (old, new) in enumerate(zip(self._infos, infos, strict=False)) if old is not new)
        if before is not judgement:
            old, new = before.pending, judgement.pending
            due.update(
                row
                for row, key in enumerate(keys)
                if old.get(key) != new.get(key) or (key in before.jobs) != (key in judgement.jobs)
            )
        return sorted(due)


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
    why = judgement.pending.get(info.key)
    if not waiting and placed >= info.min_member:
        why = None  # it has been placed since
    return JobRow(
        key=info.key,
        queue=info.queue,
        state=_state(info, placed, why, is_judged=info.key in judgement.jobs),
        owner=f"{info.owner.kind} {info.owner.name}" if info.owner is not None else "",
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
