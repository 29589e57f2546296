"""Which nodes have room for all pods of a gang that share a claim, where only one node can use its devices.

The first of these pods that is placed decides the node for all, so it has to go where the others fit, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.framework.views import Counts
from volcano_py.state.devices.needs import OpenDevices
from volcano_py.state.nodes.terms import Mask
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.table import NOWHERE, Rows
from volcano_py.state.task_class import TaskClass


def lacks_room(room: Counts, request: IntVector) -> Mask:
    """[K] nodes with this `room` [K, R] that have too little for the `request`."""
    asked = np.flatnonzero(request)
    lacks: Mask = np.logical_or.reduce(room[:, asked] < request[asked], axis=1)
    return lacks


class Company:
    """Of one session."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._classes: dict[str, list[int]] | None = None
        """Claim → rows of the classes that share it and wait for its devices."""

    def request(self, task_class: TaskClass, claims: Sequence[str]) -> IntVector | None:
        """[R] what those pods request together that share one of these claims of the class and that their gang needs to
        start; None where one pod is enough.

        It is the least that so many of them request, whichever are placed: a node with less has no room for the gang.
        """
        found: IntVector | None = None
        for job, rows in self._gangs(task_class, claims):
            others = int(self._ssn.ledger.jobs.counts[job.row, TaskStatus.PENDING]) - len(rows)
            needed = min(len(rows), self._ssn.ask.tasks_to_ready(job) - others)
            if needed <= 1:
                return None
            requests = self._ssn.ledger.classes.request[self._ssn.ledger.tasks.task_class[rows]]
            least = np.sort(requests, axis=0)[:needed].sum(axis=0)
            found = least if found is None else np.minimum(found, least)
        return found

    def _gangs(self, task_class: TaskClass, claims: Sequence[str]) -> list[tuple[Job, Rows]]:
        """Each job with waiting pods of this class, with those of its waiting pods that share one of the claims."""
        tasks = self._ssn.ledger.tasks
        waiting = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job != NOWHERE))
        sharing = waiting[np.isin(tasks.task_class[waiting], self._sharing(claims))]
        of_class = sharing[tasks.task_class[sharing] == task_class.row]
        jobs = ((self._ssn.job(row), row) for row in np.unique(tasks.job[of_class]).tolist())
        return [(job, sharing[tasks.job[sharing] == row]) for job, row in jobs if job is not None]

    def _sharing(self, claims: Sequence[str]) -> list[int]:
        if self._classes is None:
            self._classes = {}
            for each in filter(None, self._ssn.snapshot.classes):
                for need in each.devices:
                    if isinstance(need, OpenDevices) and need.claim:
                        self._classes.setdefault(need.claim, []).append(each.row)
        return [row for claim in claims for row in self._classes.get(claim, ())]
