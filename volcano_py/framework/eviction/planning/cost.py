"""What a plan costs, so that two plans for the same job can be compared: the lesser is better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.planning.draft import Eviction
from volcano_py.framework.job import Task
from volcano_py.framework.placement.row_groups import group_rows
from volcano_py.framework.session import Session
from volcano_py.state.table.table import Rows

PLACES: Final = 9
"""What is freed is compared up to so many decimal places: equal amounts, added up in another order, are equal."""


class Cost(NamedTuple):
    """Compared field by field.

    Attributes:
        whole: whether any job goes whole, where that is the last that may happen.
        below: how many queues are left with less than they deserve.
        rank: the place of the last queue in victim queue order.
        priority: the highest job priority.
        jobs: how many jobs lose pods.
        complete: how many complete gangs go.
        surplus: how many pods go alone.
        freed: what is freed, as a sum of parts of the cluster.
        turn: the place of the last unit among all candidates, of which the newest go first.
    """

    whole: bool
    below: int
    rank: int
    priority: int
    jobs: int
    complete: int
    surplus: int
    freed: float
    turn: int


class Costs:
    """The costs of plans, as of a moment before any of them."""

    def __init__(self, ssn: Session, pool: Candidates, task: Task) -> None:
        self._tasks, self._turn = ssn.ledger.tasks, pool.turn
        self._complete = pool.gangs.are_complete()
        self._surplus_first = pool.gangs.rules.surplus_first
        self._ranks = np.zeros(ssn.ledger.tasks.size, dtype=np.intp)
        placed = np.flatnonzero((self._tasks.queue >= 0) & (self._tasks.job >= 0) & (self._tasks.node >= 0))
        placed = placed[ssn.is_queue(self._tasks.queue[placed])]
        self._ranks[placed] = victim_ranks(ssn, task, placed)
        self._worth = 1 / np.maximum(ssn.total, 1)

    def of(self, evictions: Sequence[Eviction]) -> Cost:
        units = [each.unit for each in evictions]
        whole = {unit.job.row for unit in units if unit.is_whole}
        return Cost(
            whole=bool(whole) and self._surplus_first,
            below=len({each.unit.job.queue.slot for each in evictions if each.consent.is_last_resort}),
            rank=max(int(self._ranks[unit.rows].max()) for unit in units),
            priority=max(unit.job.priority for unit in units),
            jobs=len({unit.job.row for unit in units}),
            complete=sum(bool(self._complete[row]) for row in whole),
            surplus=sum(len(unit.rows) for unit in units if unit.job.row not in whole),
            freed=round(float(sum(unit.request @ self._worth for unit in units)), PLACES),
            turn=max(int(self._turn[unit.rows].min()) for unit in units),
        )


def victim_ranks(ssn: Session, task: Task, rows: Rows) -> NDArray[np.intp]:
    """[K] which of the pods loses its place to the task first: by queue, in victim queue order, and in a queue by
    namespace, the last in namespace order first."""
    tasks, jobs = ssn.ledger.tasks, ssn.ledger.jobs
    by_namespace = ssn.ask.has_namespace_order
    namespace = jobs.namespace[tasks.job[rows]] if by_namespace else np.zeros(len(rows), dtype=np.intp)
    side, first = group_rows([tasks.queue[rows], namespace])
    if len(first) < 2:
        return np.zeros(len(rows), dtype=np.intp)
    by_slot = {queue.slot: queue for queue in ssn.queues.values()}
    queues = [by_slot[slot] for slot in tasks.queue[rows[first]].tolist()]
    place = {queue.name: at for at, queue in enumerate(ssn.ask.victim_queues(set(queues), task))}
    sides = [(queue, ssn.snapshot.namespaces[at]) for queue, at in zip(queues, namespace[first].tolist(), strict=True)]
    order = sorted(
        range(len(sides)), key=lambda at: ssn.ask.namespace_key(*sides[at]) if by_namespace else (), reverse=True
    )
    order.sort(key=lambda at: place[sides[at][0].name])
    ranks = np.empty(len(sides), dtype=np.intp)
    ranks[order] = np.arange(len(sides))
    return ranks[side]
