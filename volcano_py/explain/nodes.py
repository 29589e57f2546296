"""What each node says to a pod that waits: the predicates' own refusals, then room."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.explain.model import Domain, Near, Nodes
from volcano_py.explain.target import Target, first_waiting
from volcano_py.explain.world import World
from volcano_py.framework.topology.candidates import Demand, best_of_tiers
from volcano_py.framework.views import FITS
from volcano_py.state.status import TaskStatus
from volcano_py.state.task_class import TaskClass

_NEAREST: Final = 3
_REFUSED: Final = 1e6
"""A node that refuses a pod whatever is free on it is farther than each that only lacks room."""


def nodes(world: World, target: Target) -> Nodes | None:
    """Of the first pod that waits; None when the scheduler knows none."""
    found = first_waiting(world, target)
    if found is None:
        return None
    pod, task_class = found
    ssn = world.session
    codes = ssn.placer.codes(task_class)
    table = ssn.ledger.nodes
    lacks = np.maximum(task_class.request - (table.allocatable - table.used), 0)
    lacks[:, task_class.request == 0] = 0
    rows = np.flatnonzero(table.present)
    refusals: Counter[str] = Counter()
    for row in rows.tolist():
        if codes[row] != FITS:
            refusals[ssn.refusal_of(int(codes[row])).message] += 1
        elif lacks[row].any():
            name = ssn.ledger.axis.names[int(np.flatnonzero(lacks[row])[0])]
            refusals["too many pods" if name == "pods" else f"too little {name}"] += 1
    distance = np.where(codes != FITS, _REFUSED, 0) + _relative(lacks, task_class)
    order = rows[np.argsort(distance[rows], kind="stable")][:_NEAREST]
    return Nodes(
        pod=pod.metadata.key,
        total=len(rows),
        takes=len(rows) - sum(refusals.values()),
        refusals=dict(refusals.most_common()),
        nearest=tuple(
            Near(
                ssn.snapshot.nodes[row].name,
                world.amounts(lacks[row]),
                "" if codes[row] == FITS else ssn.refusal_of(int(codes[row])).message,
            )
            for row in order.tolist()
        ),
        domains=domains_of(world, target),
    )


def domains_of(world: World, target: Target) -> tuple[Domain, ...]:
    """Of a workload that is kept together in the network, the best domain of each tier, the narrowest first."""
    ssn, job = world.session, world.jobs.get(target.group)
    limit = None if job is None else ssn.topology.limit(job)
    if job is None or limit is None:
        return ()
    rows = ssn.tasks_of(job)
    rows = ssn.ask.ordered_tasks(rows[ssn.ledger.tasks.status[rows] == TaskStatus.PENDING])
    demand = Demand.of(ssn, rows[: max(ssn.ask.tasks_to_ready(job), 1)])
    return tuple(
        Domain(each.name, each.tier, each.pods, demand.tasks, each.allowed, each.tier_name)
        for each in best_of_tiers(ssn, job, limit, demand)
    )


def _relative(lacks: NDArray[np.int64], task_class: TaskClass) -> NDArray[np.float64]:
    """[N] what a node lacks, in parts of the request, over all resources."""
    request = np.maximum(task_class.request, 1)
    total: NDArray[np.float64] = (lacks / request).sum(axis=1)
    return total
