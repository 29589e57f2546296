"""Where the pods of many jobs, or of their sub-groups, are, worked out for all of them at once."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.state.status import ALLOCATED_STATUSES, TaskStatus
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import Rows
from volcano_py.state.topology.tree import Tree


class Placement(msgspec.Struct, frozen=True):
    """Pods of a job, or of a sub-group, that have places on nodes that exist.

    Attributes:
        domain: the smallest that holds all of them.
        pods: how many.
        parts: how many domains they are in, the nearest of each node.
    """

    domain: int
    pods: int
    parts: int


def placements(ledger: Ledger, tree: Tree, jobs: Rows) -> dict[int, Placement]:
    """Job row → where its pods are, of those of the `jobs` [K] that have any placed."""
    rows = _placed(ledger, tree, jobs)
    return _by_key(tree, ledger.tasks.job[rows], tree.nearest[ledger.tasks.node[rows]])


def group_placements(ledger: Ledger, tree: Tree, jobs: Rows) -> Mapping[int, Mapping[int, Placement]]:
    """Job row → number of each sub-group in the task table → where its pods are; as `placements`."""
    rows = _placed(ledger, tree, jobs)
    rows = rows[ledger.tasks.sub_group[rows] > 0]
    if not len(rows):
        return {}
    of_job, of_group = ledger.tasks.job[rows], ledger.tasks.sub_group[rows].astype(np.int64)
    most = int(of_group.max()) + 1
    found: dict[int, dict[int, Placement]] = {}
    for key, placement in _by_key(tree, of_job * most + of_group, tree.nearest[ledger.tasks.node[rows]]).items():
        job, group = divmod(key, most)
        found.setdefault(job, {})[group] = placement
    return found


def _placed(ledger: Ledger, tree: Tree, jobs: Rows) -> Rows:
    """[K] the tasks of these jobs that have places on nodes that exist."""
    tasks, wanted = ledger.tasks, np.zeros(ledger.jobs.size, dtype=np.bool_)
    wanted[jobs] = True
    placed = ALLOCATED_STATUSES.copy()
    placed[TaskStatus.PIPELINED] = True
    rows = np.flatnonzero(placed[tasks.status] & (tasks.node >= 0) & (tasks.job >= 0))
    rows = rows[wanted[tasks.job[rows]]]
    return rows[tree.nearest[tasks.node[rows]] >= 0]


def _by_key(tree: Tree, keys: NDArray[np.integer], nearest: NDArray[np.intp]) -> dict[int, Placement]:
    """Key → where the pods with it are; `keys` [K] and `nearest` [K] are of one pod each."""
    if not len(keys):
        return {}
    order = np.lexsort((nearest, keys))
    keys, nearest = keys[order], nearest[order]
    is_first = np.diff(keys, prepend=-1) != 0
    starts = np.flatnonzero(is_first)
    ends = np.append(starts[1:], len(keys))
    another = (np.diff(nearest, prepend=-1) != 0) | is_first
    parts = np.add.reduceat(another, starts)
    common: dict[tuple[int, int], int] = {}
    found: dict[int, Placement] = {}
    for key, first, last, pods, many in zip(
        keys[starts].tolist(),
        nearest[starts].tolist(),
        nearest[ends - 1].tolist(),
        (ends - starts).tolist(),
        parts.tolist(),
        strict=True,
    ):
        if (first, last) not in common:
            common[first, last] = tree.common(np.array([first, last], dtype=np.intp))
        found[key] = Placement(common[first, last], pods, many)
    return found
