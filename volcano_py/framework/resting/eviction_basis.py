"""What actions that evict go by, apart from the job that they would evict for.

While nothing of it changes they find nothing again for a job for which they found nothing, so it may rest. A change of
anything that runs, or of what is free anywhere, wakes all such jobs: a search looks at all nodes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from hashlib import blake2b
from typing import Final

import msgspec
import numpy as np

from volcano_py.framework.calls.dispatch import Dispatch
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.state.infos import JobInfo, TaskInfo
from volcano_py.state.table.columns import JobTable, NodeTable, TaskTable
from volcano_py.state.table.table import NOWHERE

EVICTING_NOTHING: Final = frozenset({"enqueue", "allocate", "backfill", "shuffle"})
"""Actions that evict nothing for jobs that wait."""
EVICTING: Final = frozenset({"preempt", "reclaim", "gangpreempt", "gangreclaim"})
"""Actions that do, and go by what is known here."""
# What the API server has of a status, and what only waiting pods have, decide no search.
_TASK_COLUMNS: Final = tuple(sorted(TaskTable.columns.keys() - {"gated", "nominated", "nominated_since", "spread"}))
_JOB_COLUMNS: Final = tuple(sorted(JobTable.columns.keys() - {"stored_phase", "stored_counts"}))
_NODE_COLUMNS: Final = tuple(sorted(NodeTable.columns))


def evicting(actions: Iterable[str]) -> frozenset[str]:
    """Those of the actions that may evict pods for jobs that wait, or of which that is not known."""
    return frozenset(actions) - EVICTING_NOTHING


class EvictionBasis(msgspec.Struct, frozen=True):
    """See the module. Nodes (but for what is on them), queues and the configuration are in `memory.Basis`.

    Attributes:
        numbers: a digest of the rows of nodes, of pods that have one, and of their jobs.
        pods: those pods.
        jobs: those jobs.
        plugins: what the plugins say (`Plugin.evictions_follow_from`).
    """

    numbers: bytes
    pods: tuple[TaskInfo | None, ...]
    jobs: tuple[JobInfo | None, ...]
    plugins: tuple[Hashable, ...]

    @classmethod
    def of(cls, cluster: ClusterCopy, dispatch: Dispatch) -> EvictionBasis | None:
        """As things stood when the cycle began; None when that is not all that evictions follow from."""
        answers = tuple(
            dispatch.guard(plugin, "evictions_follow_from", plugin.evictions_follow_from, otherwise=None)
            for plugin in dispatch.plugins
        )
        ledger = cluster.snapshot.ledger
        rows = np.flatnonzero(ledger.tasks.node != NOWHERE)
        if None in answers or (ledger.tasks.retry_at[rows] > cluster.now).any():
            return None
        has_pods = np.zeros(ledger.jobs.size, dtype=np.bool_)
        job = ledger.tasks.job[rows]
        has_pods[job[job >= 0]] = True
        owners = np.flatnonzero(has_pods)
        digest = blake2b(rows.tobytes(), digest_size=16)
        for table, places, names in (
            (ledger.tasks, rows, _TASK_COLUMNS),
            (ledger.jobs, owners, _JOB_COLUMNS),
            (ledger.nodes, slice(None), _NODE_COLUMNS),
        ):
            for name in names:
                digest.update(np.ascontiguousarray(getattr(table, name)[places]).data)
        pods = tuple(map(cluster.snapshot.tasks.__getitem__, rows.tolist()))
        jobs = tuple(map(cluster.snapshot.jobs.__getitem__, owners.tolist()))
        return cls(digest.digest(), pods, jobs, answers)


def has_moved(cluster: ClusterCopy) -> bool:
    """Whether the cycle has placed, promised or evicted anything."""
    return not np.array_equal(cluster.ledger.tasks.status, cluster.snapshot.ledger.tasks.status)
