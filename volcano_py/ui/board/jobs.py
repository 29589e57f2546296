"""PodGroups as rows: how each stands, and why it waits as the scheduler would say now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from volcano_py.api.report import CycleReport, PendingJob
from volcano_py.state.infos import JobInfo
from volcano_py.state.snapshot import Phase, Snapshot
from volcano_py.state.status import FINISHED_STATUSES, ON_NODE_STATUSES, TaskStatus
from volcano_py.ui.board.model import JobRow

_ON_NODE: Final = np.flatnonzero(ON_NODE_STATUSES)
_FINISHED: Final = np.flatnonzero(FINISHED_STATUSES)


def job_rows(report: CycleReport, snapshot: Snapshot) -> dict[str, JobRow]:
    """namespace/name → row. `report` is that of a cycle over the snapshot."""
    pending = {job.name: job for job in report.pending}
    rows = {row.key: row for row in _known(snapshot, pending)}
    for name, job in pending.items():
        if name not in rows:  # its PodGroup does not exist, or its queue does not
            rows[name] = JobRow(
                name,
                job.queue,
                "Waiting",
                waiting=job.pending,
                reason=str(job.reason.value),
                message=_sentence(job),
            )
    return rows


def _known(snapshot: Snapshot, pending: dict[str, PendingJob]) -> Iterator[JobRow]:
    jobs, axis = snapshot.ledger.jobs, snapshot.ledger.axis
    placed = jobs.counts[:, _ON_NODE].sum(axis=1).tolist()
    finished = jobs.counts[:, _FINISHED].sum(axis=1).tolist()
    waiting = jobs.counts[:, TaskStatus.PENDING].tolist()
    priorities, created = jobs.priority.tolist(), jobs.created.tolist()
    for row in np.flatnonzero(jobs.known).tolist():
        info = snapshot.jobs[row]
        if info is None:
            continue
        why = pending.get(info.key)
        yield JobRow(
            key=info.key,
            queue=info.queue,
            state=_state(info, placed[row], why),
            owner=f"{info.owner.kind} {info.owner.name}" if info.owner is not None else "",
            minimum=info.min_member,
            placed=placed[row],
            waiting=waiting[row],
            finished=finished[row],
            reason=str(why.reason.value) if why is not None else "",
            message=_sentence(why) if why is not None else "",
            priority=priorities[row],
            created=created[row],
            allocated=axis.amounts(jobs.allocated[row]),
        )


def _state(info: JobInfo, placed: int, why: PendingJob | None) -> str:
    if why is not None:
        return "Partly running" if placed else "Waiting"
    if placed:
        return "Running"
    return "Completed" if Phase.of(info.phase) is Phase.COMPLETED else "Starting"


def _sentence(job: PendingJob) -> str:
    return job.message.removeprefix(f"{job.reason.value}: ")
