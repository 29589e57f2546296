"""Which pods of a loaded node may be moved, in which order, and why others stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from volcano_py.framework.eviction.gangs import Gangs
from volcano_py.framework.eviction.units import UnitRules
from volcano_py.framework.session import Session
from volcano_py.plugins.rescheduling.balance import Amounts
from volcano_py.state.status import FINISHED_STATUSES
from volcano_py.state.table.axis import CPU, MEMORY
from volcano_py.state.table.columns import ANY_PRIORITY
from volcano_py.state.table.table import Rows

_BEST_EFFORT, _BURSTABLE, _GUARANTEED = range(3)
_NO_PRIORITY = np.iinfo(np.int64).min


class Stays(StrEnum):
    """Why a pod stays, as words that go on after a number of pods. The order is that of messages."""

    NOWHERE = "fit no node with a low load"
    NOT_TAKEN_BACK = "have queues that are closed, over their limits, or full with others waiting"
    TOO_LARGE = "request more than the nodes with a low load may take"
    IN_GANG = "are needed by their gangs"
    NO_CONTROLLER = "have no controller that would create them again"
    PROTECTED = "are protected by plugins"
    NOT_PREEMPTABLE = "are protected by the annotation volcano.sh/preemptable"
    NO_HELP = "request nothing of what their node has too much in use"


class Movable:
    """Pods that run, `running`; each that is taken counts against the minimums of its job."""

    def __init__(self, ssn: Session, running: Rows) -> None:
        self._ssn = ssn
        self._tasks, self._jobs = ssn.ledger.tasks, ssn.ledger.jobs
        gangs = Gangs(ssn, UnitRules(), running)
        self._of_job = gangs.surplus()
        self._of_role = dict(zip(running.tolist(), gangs.surplus_of_roles(running).tolist(), strict=True))
        self._of_group = dict(zip(running.tolist(), gangs.surplus_of_groups(running).tolist(), strict=True))
        self._taken: Counter[tuple[str, int, int]] = Counter()

    def request(self, row: int) -> Amounts:
        """[2]"""
        amounts: Amounts = self._ssn.ledger.classes.request[self._tasks.task_class[row]][[CPU, MEMORY]]
        return amounts

    def ordered(self, rows: Rows) -> list[int]:
        """The lowest priority first (pods without one before all), then BestEffort, Burstable, Guaranteed, then the
        youngest, then what comes last in its job."""
        tasks = self._tasks
        priority = np.where(tasks.pod_priority[rows] == ANY_PRIORITY, _NO_PRIORITY, tasks.pod_priority[rows])
        quality = np.array([self._quality(row) for row in rows.tolist()], dtype=np.int64)
        keys = tasks.tiebreak[rows], -tasks.suffix[rows], -tasks.created[rows], quality, priority
        ordered: list[int] = rows[np.lexsort(keys)].tolist()
        return ordered

    def why_stays(self, row: int) -> Stays | None:
        """What keeps the pod where it is, whatever the nodes are; None if it may go."""
        if not (self._tasks.preemptable[row] and self._jobs.preemptable[self._tasks.job[row]]):
            return Stays.NOT_PREEMPTABLE
        if not self._ssn.task_info(row).has_controller:
            return Stays.NO_CONTROLLER
        return None if self._is_alone(row) or self._is_surplus(row) else Stays.IN_GANG

    def take(self, row: int) -> None:
        """The pod goes."""
        self._taken.update(self._parts_of(row))

    def _is_alone(self, row: int) -> bool:
        """Whether the pod is all there is of its job, and all that it needs: moving it tears nothing apart."""
        job = int(self._tasks.job[row])
        is_only = int(self._jobs.counts[job, ~FINISHED_STATUSES].sum()) == 1
        return is_only and bool(self._jobs.min_member[job] <= 1)

    def _is_surplus(self, row: int) -> bool:
        """Whether its job, its role and its sub-group keep their minimums without it and those that were taken."""
        spare = (int(self._of_job[self._tasks.job[row]]), self._of_role[row], self._of_group[row])
        return all(spare[at] > self._taken[part] for at, part in enumerate(self._parts_of(row)))

    def _parts_of(self, row: int) -> tuple[tuple[str, int, int], ...]:
        """Its job, role and sub-group."""
        job = int(self._tasks.job[row])
        return (
            ("job", job, 0),
            ("role", job, int(self._tasks.role[row])),
            ("sub-group", job, int(self._tasks.sub_group[row])),
        )

    def _quality(self, row: int) -> int:
        """The pod's class of service, by what its containers request and may use together: limits are never below
        requests, so sums are equal only if all are."""
        request, limits = self.request(row), np.array(self._ssn.task_info(row).limits)
        if not request.any():
            return _BEST_EFFORT
        return _GUARANTEED if (request == limits).all() and request.all() else _BURSTABLE


def summary(stay: Counter[Stays], protected: Sequence[str]) -> str:
    """`pods: 3 fit no node with a low load, 1 …`; verbs are those of many. `protected`: the same, for each plugin that
    protects pods."""
    found = [
        part for why in Stays if stay[why] for part in (protected if why is Stays.PROTECTED else [f"{stay[why]} {why}"])
    ]
    return f"pods: {', '.join(found)}" if found else "no pods of this scheduler run there"
