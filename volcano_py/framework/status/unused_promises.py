"""For how long promises have not been used, and how much of that time the next ones of a namespace inherit.

A promise is one PodGroup's, and one `minResources`. It is settled once its pods have held all of it. If it ends before,
because the PodGroup is deleted, or another `minResources` replaces this one, its namespace is left with the time for
which it was not used: otherwise a tenant would keep others out for ever with PodGroups that replace each other. That
counts in all queues, as a PodGroup may name any, and as long as a job waits that was waiting then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.objects import ResourceList
from volcano_py.state.infos import JobInfo
from volcano_py.state.snapshot import Phase, Snapshot

# So many namespaces may have left-over time, plus twice as many as there are PodGroups; then the oldest is dropped.
_SPARE_ENTRIES: Final = 1000


class LeftOver(NamedTuple):
    """Time for which promises of a namespace were not used.

    Attributes:
        seconds: the longest time, with what was inherited.
        at: when the last of these promises ended, in seconds since the epoch.
    """

    seconds: float
    at: float


@dataclass(slots=True)
class _Promise:
    """A promise that is not settled yet.

    Attributes:
        row: of the job.
        amounts: its minResources.
        since: when its time would have begun, had it been unused without a break; in seconds since the epoch.
        has_inherited: whether others have left it part of its time.
        used_at: since when it is used; None while it is not.
    """

    row: int
    namespace: str
    amounts: ResourceList
    since: float
    has_inherited: bool
    used_at: float | None = None


class UnusedPromises:
    """Those of one cycle; `memory` keeps them until the next one."""

    def __init__(self, snapshot: Snapshot, memory: dict[str, Any]) -> None:
        self._snapshot = snapshot
        self._promises: dict[str, _Promise] = memory.setdefault("promises", {})
        """By the PodGroup's UID."""
        self._left: dict[str, LeftOver] = memory.setdefault("left over", {})
        """By namespace; the oldest first."""
        self._unused: set[str] = set()
        """UIDs of those that this cycle has found unused."""
        for uid in [*self._gone()]:
            self._leave(self._promises.pop(uid))
        for uid in [*self._held()]:
            del self._promises[uid]
        self._forget()

    def begin(self, row: int, info: JobInfo, inherited: float = 0.0) -> None:
        """The job in this row is promised its minResources, and does not use it; so many seconds count already."""
        uid, namespace = info.ref.uid, info.ref.namespace
        since = self._snapshot.now - inherited
        self._promises[uid] = _Promise(row, namespace, info.min_resources, since, has_inherited=inherited > 0)
        self._unused.add(uid)

    def since(self, row: int, info: JobInfo, first: float | None = None) -> float:
        """When the time of the job's promise would have begun, had it been unused without a break; it is unused now.

        `first`: when it began, if the promise is new here and that is known.
        """
        now, uid = self._snapshot.now, info.ref.uid
        promise = self._promises.get(uid)
        if promise is None:
            left = self._left.get(info.ref.namespace)
            self.begin(row, info, left.seconds if left is not None else 0.0)
            promise = self._promises[uid]
            promise.since = promise.since if first is None else first
        elif promise.used_at is not None:
            promise.since += max(now - promise.used_at, 0.0)
            promise.used_at = None
        self._unused.add(uid)
        promise.since = min(promise.since, now)  # the clock may have been set back
        return promise.since

    def end(self, uid: str) -> bool:
        """The promise is taken back. Whether part of its time was inherited."""
        promise = self._promises.pop(uid, None)
        return promise is not None and promise.has_inherited

    def leave(self, namespace: str, seconds: float) -> None:
        """A promise of the namespace has ended that was not used for so long."""
        known = self._left.pop(namespace, None)
        seconds = seconds if known is None else max(seconds, known.seconds)
        self._left[namespace] = LeftOver(seconds, self._snapshot.now)

    def left_over(self, namespace: str) -> LeftOver | None:
        return self._left.get(namespace)

    def stop_others(self) -> None:
        """All promises that are not used have been asked about: the time of others stands still."""
        for uid, promise in self._promises.items():
            if promise.used_at is None and uid not in self._unused:
                promise.used_at = self._snapshot.now

    def _gone(self) -> Iterator[str]:
        jobs = self._snapshot.jobs
        for uid, promise in self._promises.items():
            info = jobs[promise.row] if promise.row < len(jobs) else None
            if info is None or info.ref.uid != uid or info.min_resources != promise.amounts:
                yield uid

    def _held(self) -> Iterator[str]:
        """Those of which the pods hold all that is promised."""
        jobs = self._snapshot.ledger.jobs
        rows = np.array([promise.row for promise in self._promises.values()], dtype=np.intp)
        is_held: NDArray[np.bool_] = np.all(jobs.allocated[rows] >= jobs.min_resources[rows], axis=1)
        return compress([*self._promises], is_held)

    def _leave(self, promise: _Promise) -> None:
        until = self._snapshot.now if promise.used_at is None else promise.used_at
        if until > promise.since:
            self.leave(promise.namespace, until - promise.since)

    def _forget(self) -> None:
        if not self._left:
            return
        jobs = self._snapshot.ledger.jobs
        waiting = jobs.created[jobs.known & (jobs.phase <= Phase.PENDING)]
        oldest = waiting.min(initial=np.inf)
        excess = len(self._left) - 2 * len(self._snapshot.jobs) - _SPARE_ENTRIES
        for place, (namespace, left) in enumerate([*self._left.items()]):
            if left.at < oldest or place < excess:
                del self._left[namespace]
