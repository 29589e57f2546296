"""Jobs for which an action found nothing: an equal job need not be tried until something is placed or evicted.

A queue that is full may have thousands of equal jobs that wait, each of which would cost a search through all pods.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Final

import numpy as np

from volcano_py.framework.eviction.starving import Starving
from volcano_py.state.table.columns import JobTable

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

# What the API server has of the status, and ages, decide no search.
_JOB_COLUMNS: Final = tuple(sorted(JobTable.columns.keys() - {"created", "suffix", "stored_phase", "stored_counts"}))
_TASK_COLUMNS: Final = ("task_class", "priority", "pod_priority", "role", "preemptable")


class Futile:
    """See the module. Made for one run of the action.

    It remembers nothing where a plugin may tell equal jobs apart, nor where places are held for an allocate to come.
    """

    def __init__(self, ssn: Session, *, holds_places: bool) -> None:
        """`holds_places`: for an allocate that follows."""
        self._ssn = ssn
        sees_all = all(plugin.sees_jobs_alike for plugin in ssn.dispatch.plugins)
        self._remembers = sees_all and not holds_places
        self._known: set[Hashable] = set()

    def __contains__(self, work: Starving) -> bool:
        """Whether nothing was found for an equal job, and nothing has changed since."""
        return bool(self._known) and self._kind(work) in self._known

    def add(self, work: Starving) -> None:
        """Nothing was found for the job, and nothing was changed for it."""
        kind = self._kind(work)
        if kind is not None:
            self._known.add(kind)

    def clear(self) -> None:
        """Something was placed or evicted."""
        self._known.clear()

    def _kind(self, work: Starving) -> Hashable | None:
        """Equal for jobs that a search cannot tell apart; None for one that is only itself."""
        ssn, job = self._ssn, work.job
        if not self._remembers or job.info.topology is not None or ssn.findings.nodes_held_for == job.row:
            return None
        tasks, rows = ssn.ledger.tasks, work.tasks
        if job.pending_tasks < job.tasks or tasks.nominated[rows].any():
            return None
        infos = {(i.preemption_policy, i.says_preemptable, i.uses_revocable) for i in map(ssn.task_info, rows.tolist())}
        if len(infos) > 1:
            return None
        columns = [getattr(ssn.ledger.jobs, name)[job.row] for name in _JOB_COLUMNS]
        columns += [getattr(tasks, name)[rows] for name in _TASK_COLUMNS]
        numbers = b"".join(np.ascontiguousarray(column).tobytes() for column in columns)
        return numbers, frozenset(job.info.min_task_member.items()), frozenset(infos)
