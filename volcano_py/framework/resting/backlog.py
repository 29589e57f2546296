"""Jobs that rest and are to be looked at again, until a cycle has done so.

Ordinarily that is the next cycle. Where thousands of different pods wait, and what has changed may concern each of
them, a cycle looks at as many as it can in a moment (looks.py), and the next ones, which follow at once, at the others:
so those of one tenant do not delay what others wait for. Such a cycle adds none, if nothing has changed before it, so
that they come to an end.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Set
from copy import copy

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.resting.looks import chosen
from volcano_py.framework.resting.memory import RestingJob
from volcano_py.framework.status.wakeups import earliest


class Backlog:
    """See the module.

    Attributes:
        is_new: whether this cycle may find anything of jobs at which the last one has looked.
    """

    def __init__(self) -> None:
        self.is_new = True
        self._cycle = 0
        self._due: Mapping[int, int] = {}
        """Row → the number of the cycle since which the job is to be looked at."""
        self._seen: int | None = None
        """How many changes there had been when the last cycle began (`Snapshot.changes`); None if it has acted."""
        self._next_moment = 0.0

    def __bool__(self) -> bool:
        return bool(self._due)

    def __contains__(self, row: int) -> bool:
        return row in self._due

    def copy(self) -> Backlog:
        """Later changes of the one change nothing of the other."""
        return copy(self)  # nothing that it has is changed in place

    def begin(self, cluster: ClusterCopy, rests: Container[int]) -> None:
        """A cycle begins; `rests` are the rows of all jobs that rest."""
        self._cycle += 1
        self._due = {row: since for row, since in self._due.items() if row in rests}
        has_come = 0 < self._next_moment <= cluster.now
        self.is_new = self._seen is None or self._seen != cluster.snapshot.changes or has_come

    def add(self, rows: Iterable[int]) -> None:
        """The jobs in these rows are to be looked at."""
        self._due = {**dict.fromkeys(rows, self._cycle), **self._due}

    def choose(
        self, cluster: ClusterCopy, jobs: Mapping[int, RestingJob], most: float, *, among: Iterable[int] | None = None
    ) -> set[int]:
        """Rows of those that this cycle looks at. `jobs`: all that rest, by row; `most`: see `looks.chosen`; `among`:
        only these rows."""
        due = self._due if among is None else {row: self._due[row] for row in among}
        return chosen(cluster, jobs, due, most)

    @property
    def kept_moment(self) -> float:
        """When another cycle is due that the last one asked for, and this one may not, as it looks at none of the jobs
        again; in seconds since the epoch, 0 for none."""
        return 0.0 if self.is_new else self._next_moment

    def is_old(self, row: int) -> bool:
        """Whether the job was left for this cycle by an earlier one."""
        return self._due[row] < self._cycle

    def end(self, cluster: ClusterCopy, looked_at: Set[int], *, has_acted: bool, next_moment: float) -> None:
        """A cycle ends that has looked at these.

        Args:
            looked_at: rows of jobs.
            has_acted: whether it has bound or evicted anything, moved a PodGroup into another phase, or taken back a
                promise.
            next_moment: when the clock may change an answer, in seconds since the epoch; 0 for never.
        """
        retries = cluster.ledger.tasks.retry_at
        self._due = {row: since for row, since in self._due.items() if row not in looked_at}
        self._seen = None if has_acted else cluster.snapshot.changes
        self._next_moment = earliest(next_moment, *retries[retries > cluster.now].tolist())
