"""Takes Volcano's own scheduling gate off pods whose queue has room for them.

Until then a pod with the gate does not count as unschedulable, so an autoscaler adds no node for a pod that its queue
would keep out all the same. Pods without the gate that wait in the queue have a claim to its room already.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from volcano_py.api.effects import OpenGate
from volcano_py.api.names import QUEUE_ALLOCATION_GATE
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain_ceilings import queue_gate_closed
from volcano_py.framework.job import Job
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import Refusal

if TYPE_CHECKING:
    from volcano_py.framework.session import Session
    from volcano_py.framework.votes import Room
    from volcano_py.state.infos import QueueInfo

MEMORY: Final = __name__
"""The name of what is remembered: pods whose gate was taken off, by UID, and when."""
# Seconds after which the write is asked for again; it is repeated, and mostly shows within a moment.
_SHOWS_WITHIN: Final = 30.0
_ONLY: Final = (QUEUE_ALLOCATION_GATE,)


def open_gates(ssn: Session) -> Iterator[OpenGate]:
    """The gates to take off, of admitted jobs in job order; a job that has to wait for its queue gets a note."""
    opened: dict[str, float] = ssn.memory(MEMORY)
    waiting = _behind_the_gate(ssn)
    now_there = {ssn.task_info(row).ref.uid for rows in waiting.values() for row in rows}
    for uid in [uid for uid, since in opened.items() if uid not in now_there or since + _SHOWS_WITHIN < ssn.now]:
        del opened[uid]
    if not waiting:
        return
    claims = _Claims(ssn)
    jobs = [job for row in waiting if (job := ssn.job(row)) is not None and not job.is_pending]
    for job in jobs:
        for row in waiting[job.row]:
            if ssn.task_info(row).ref.uid in opened:
                claims.add(row)
    for job in sorted(jobs, key=ssn.ask.job_key):
        for row in ssn.ask.ordered_tasks(np.array(waiting[job.row], dtype=np.intp)).tolist():
            ref = ssn.task_info(row).ref
            if ref.uid in opened:
                continue
            if (refusal := claims.refusal(job, row)) is not None:
                ssn.findings.note(job, refusal)
                break
            claims.add(row)
            opened[ref.uid] = ssn.now
            yield OpenGate(ref)


def _behind_the_gate(ssn: Session) -> dict[int, list[int]]:
    """Job row → its pods that have this gate and no other."""
    tasks = ssn.ledger.tasks
    found: dict[int, list[int]] = {}
    for row in np.flatnonzero(tasks.gated & (tasks.status == TaskStatus.PENDING) & (tasks.job >= 0)).tolist():
        if ssn.task_info(row).gates == _ONLY:
            found.setdefault(int(tasks.job[row]), []).append(row)
    return found


class _Claims:
    """What waiting pods without the gate will take of their queues' room."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._by_queue = np.zeros((len(ssn.snapshot.queue_names), len(ssn.axis)), dtype=np.int64)
        tasks = ssn.ledger.tasks
        waiting = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0) & ~tasks.gated)
        self._add(waiting[tasks.queue[waiting] >= 0])

    def add(self, row: int) -> None:
        """The pod has one, too."""
        self._add(np.array([row], dtype=np.intp))

    def _add(self, rows: Rows) -> None:
        tasks, classes = self._ssn.ledger.tasks, self._ssn.ledger.classes
        np.add.at(self._by_queue, tasks.queue[rows], classes.request[tasks.task_class[rows]])

    def refusal(self, job: Job, row: int) -> Refusal | None:
        """Why the queue has no room for one more such pod; None when it has."""
        number = int(self._ssn.ledger.tasks.task_class[row])
        task_class = self._ssn.snapshot.classes[number]
        if task_class is None:
            return None
        room = self._ssn.ask.allocatable(job.queue, task_class)
        if room.count <= 0 and room.refusal is not None:
            return room.refusal
        if self._taken(room, job.queue, number) < room.count:
            return None
        return Refusal(Reason.SCHEDULING_GATED, queue_gate_closed(job.queue.name))

    def _taken(self, room: Room, queue: QueueInfo, task_class: int) -> int:
        """In how many pods of the class the claims below this ceiling amount to, at the most."""
        request = self._ssn.ledger.classes.request[task_class]
        claimed = self._by_queue[self._ssn.ask.below_ceiling(room, queue)].sum(axis=0)
        asked = request > 0
        return int(np.max(-(-claimed[asked] // request[asked]), initial=0))
