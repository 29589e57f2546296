"""PodGroups as rows: how each stands, and why it waits as the scheduler would say now."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from volcano_py.api.report import PendingJob
from volcano_py.state.infos import JobInfo
from volcano_py.state.snapshot import Phase, Snapshot
from volcano_py.state.status import FINISHED_STATUSES, ON_NODE_STATUSES, TaskStatus
from volcano_py.ui.board.judgement import Judgement
from volcano_py.ui.board.model import JobRow

_ON_NODE: Final = np.flatnonzero(ON_NODE_STATUSES)
_FINISHED: Final = np.flatnonzero(FINISHED_STATUSES)


class JobRows:
    """Keeps rows with what they were made from: of ten thousand jobs, few have changed."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[tuple[Any, ...], JobRow]] = {}

    def of(self, snapshot: Snapshot, judgement: Judgement) -> dict[str, JobRow]:
        """namespace/name → row, in the order of the table; what waits without a PodGroup or a queue comes last."""
        jobs, axis = snapshot.ledger.jobs, snapshot.ledger.axis
        placed = jobs.counts[:, _ON_NODE].sum(axis=1).tolist()
        finished = jobs.counts[:, _FINISHED].sum(axis=1).tolist()
        waiting = jobs.counts[:, TaskStatus.PENDING].tolist()
        held, priorities = jobs.allocated.tolist(), jobs.priority.tolist()
        made: dict[str, tuple[tuple[Any, ...], JobRow]] = {}
        for row in np.flatnonzero(jobs.known).tolist():
            info = snapshot.jobs[row]
            if info is None:
                continue
            why = judgement.pending.get(info.key)
            counts = placed[row], waiting[row], finished[row]
            source = info, counts, held[row], priorities[row], why, why is None and info.key in judgement.jobs
            known = self._made.get(info.key)
            if known is None or known[0] != source:
                allocated = axis.amounts(jobs.allocated[row])
                known = source, _row(info, counts, allocated, priorities[row], float(jobs.created[row]), judgement)
            made[info.key] = known
        self._made = made
        rows = {key: row for key, (_, row) in made.items()}
        return rows | {name: _stranger(why) for name, why in judgement.pending.items() if name not in rows}


def _row(
    info: JobInfo,
    counts: tuple[int, int, int],
    allocated: dict[str, int],
    priority: int,
    created: float,
    judgement: Judgement,
) -> JobRow:
    placed, waiting, finished = counts
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
        created=created,
        allocated=allocated,
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
