"""Where the pods of many jobs are, worked out for all of them at once."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from volcano_py.state.status import ALLOCATED_STATUSES, TaskStatus
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import Rows
from volcano_py.state.topology.tree import Tree


class Placement(msgspec.Struct, frozen=True):
    """Pods of a job that have places on nodes that exist.

    Attributes:
        domain: the smallest that holds all of them.
        pods: how many.
        parts: how many domains they are in, the nearest of each node.
    """

    domain: int
    pods: int
    parts: int


def placements(ledger: Ledger, tree: Tree, jobs: Rows) -> Mapping[int, Placement]:
    """Job row → where its pods are, of those of the `jobs` [K] that have any placed."""
    tasks, wanted = ledger.tasks, np.zeros(ledger.jobs.size, dtype=np.bool_)
    wanted[jobs] = True
    placed = ALLOCATED_STATUSES.copy()
    placed[TaskStatus.PIPELINED] = True
    rows = np.flatnonzero(placed[tasks.status] & (tasks.node >= 0) & (tasks.job >= 0))
    rows = rows[wanted[tasks.job[rows]]]
    nearest = tree.nearest[tasks.node[rows]]
    rows, nearest = rows[nearest >= 0], nearest[nearest >= 0]
    if not len(rows):
        return {}
    order = np.lexsort((nearest, tasks.job[rows]))
    of_job, nearest = tasks.job[rows][order], nearest[order]
    starts = np.flatnonzero(np.diff(of_job, prepend=-1))
    ends = np.append(starts[1:], len(of_job))
    another = (np.diff(nearest, prepend=-1) != 0) | (np.diff(of_job, prepend=-1) != 0)
    parts = np.add.reduceat(another, starts)
    common: dict[tuple[int, int], int] = {}
    found: dict[int, Placement] = {}
    for job, first, last, pods, many in zip(
        of_job[starts].tolist(),
        nearest[starts].tolist(),
        nearest[ends - 1].tolist(),
        (ends - starts).tolist(),
        parts.tolist(),
        strict=True,
    ):
        if (first, last) not in common:
            common[first, last] = tree.common(np.array([first, last], dtype=np.intp))
        found[job] = Placement(common[first, last], pods, many)
    return found
