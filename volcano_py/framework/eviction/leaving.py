"""Which pods are terminating on which node, for the messages of pods that wait for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from volcano_py.api.wording.explain_gangs import Leavers
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.state.status import TaskStatus


class Leaving:
    """Terminating pods by node as of the moment it is made."""

    def __init__(self, cluster: ClusterCopy) -> None:
        self._cluster = cluster
        tasks = cluster.ledger.tasks
        rows = np.flatnonzero((tasks.status == TaskStatus.RELEASING) & (tasks.node >= 0))
        self._rows = rows[np.argsort(tasks.node[rows], kind="stable")]
        self._nodes = tasks.node[self._rows]
        self._known: dict[tuple[int, ...], Leavers] = {}

    def on(self, nodes: Sequence[int]) -> Leavers:
        """Those on these nodes, given by row, with their PodGroups and queues."""
        key = tuple(nodes)
        if key not in self._known:
            self._known[key] = self._read(key)
        return self._known[key]

    def _read(self, nodes: Sequence[int]) -> Leavers:
        cluster = self._cluster
        first, last = np.searchsorted(self._nodes, nodes), np.searchsorted(self._nodes, nodes, side="right")
        rows = [row for start, end in zip(first, last, strict=True) for row in self._rows[start:end].tolist()]
        owners = np.unique(cluster.ledger.tasks.job[rows]).tolist() if rows else []
        jobs = [job for row in owners if row >= 0 and (job := cluster.job(row)) is not None]
        return Leavers(
            pods=sorted(cluster.task_info(row).key for row in rows),
            groups=sorted(job.key for job in jobs),
            queues=sorted({job.queue.name for job in jobs}),
        )
