"""What a plan costs, so that two plans for the same job can be compared: the lesser is better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.eviction.draft import Eviction
from volcano_py.framework.eviction.gangs import Gangs
from volcano_py.framework.job import Task
from volcano_py.framework.session import Session
from volcano_py.state.table.ledger import Rows


class Cost(NamedTuple):
    """Compared field by field.

    Attributes:
        whole: whether any job goes whole.
        rank: the place of the last queue in victim queue order.
        priority: the highest job priority.
        jobs: how many jobs lose pods.
        complete: how many complete gangs go.
        surplus: how many pods go alone.
        freed: what is freed, as a sum of parts of the cluster.
    """

    whole: bool
    rank: int
    priority: int
    jobs: int
    complete: int
    surplus: int
    freed: float


class Costs:
    """The costs of plans, as of a moment before any of them."""

    def __init__(self, ssn: Session, gangs: Gangs, task: Task) -> None:
        self._tasks = ssn.ledger.tasks
        self._complete = gangs.are_complete()
        self._ranks = ranks_of_queues(ssn, task, ssn.ledger.tasks.queue[ssn.ledger.tasks.queue >= 0])
        self._worth = 1 / np.maximum(ssn.total, 1)

    def of(self, evictions: Sequence[Eviction]) -> Cost:
        units = [each.unit for each in evictions]
        whole = {unit.job.row for unit in units if unit.is_whole}
        return Cost(
            whole=bool(whole),
            rank=max(int(self._ranks[self._tasks.queue[unit.rows]].max()) for unit in units),
            priority=max(unit.job.priority for unit in units),
            jobs=len({unit.job.row for unit in units}),
            complete=sum(bool(self._complete[row]) for row in whole),
            surplus=sum(len(unit.rows) for unit in units if unit.job.row not in whole),
            freed=float(sum(unit.request @ self._worth for unit in units)),
        )


def ranks_of_queues(ssn: Session, task: Task, slots: NDArray[np.int32]) -> Rows:
    """[Q] by slot, the places of the queues in these slots in the order in which they lose pods to the task."""
    ranks = np.zeros(len(ssn.snapshot.queue_names), dtype=np.intp)
    found = set(np.unique(slots).tolist())
    if len(found) > 1:
        queues = [queue for queue in ssn.queues.values() if queue.slot in found]
        for place, queue in enumerate(ssn.ask.victim_queues(queues, task)):
            ranks[queue.slot] = place
    return ranks
