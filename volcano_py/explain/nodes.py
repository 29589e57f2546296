"""What each node says to a pod that waits: the predicates' own refusals, then room."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.objects import Pod
from volcano_py.explain.model import Near, Nodes
from volcano_py.explain.target import Target
from volcano_py.explain.world import World
from volcano_py.framework.views import FITS
from volcano_py.state.status import TaskStatus
from volcano_py.state.task_class import TaskClass

_NEAREST: Final = 3
_REFUSED: Final = 1e6
"""A node that refuses a pod whatever is free on it is farther than each that only lacks room."""


def nodes(world: World, target: Target) -> Nodes | None:
    """Of the first pod that waits; None when the scheduler knows none."""
    found = _first(world, target)
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
    )


def _relative(lacks: NDArray[np.int64], task_class: TaskClass) -> NDArray[np.float64]:
    """[N] what a node lacks, in parts of the request, over all resources."""
    request = np.maximum(task_class.request, 1)
    total: NDArray[np.float64] = (lacks / request).sum(axis=1)
    return total


def _first(world: World, target: Target) -> tuple[Pod, TaskClass] | None:
    waiting = {pod.metadata.key: pod for pod in target.waiting}
    ssn = world.session
    tasks = ssn.ledger.tasks
    for row in np.flatnonzero(tasks.status == TaskStatus.PENDING).tolist():
        pod = waiting.get(ssn.task_info(row).key)
        if pod is not None:
            return pod, ssn.task_class(row)
    return None
