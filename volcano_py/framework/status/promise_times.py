"""How long jobs have held a promise that their pods do not use, and which jobs have lost it.

The times are kept between cycles by the PodGroup's UID, and not read from the PodGroup: a user who may edit a PodGroup
may edit its status. Only after a restart, conditions say how long pods have been missing, so that the time is not lost.
What PodGroups that are gone have used of it counts for the next ones of their namespace (`unused_promises.py`); a
restart forgets that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final, NamedTuple

from volcano_py.api import names
from volcano_py.config.arguments import Arguments, argument
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.config.values import PositiveDuration
from volcano_py.framework.job import Job
from volcano_py.framework.status.unused_promises import UnusedPromises
from volcano_py.state.infos import JobInfo
from volcano_py.state.snapshot import Snapshot

PROMISES: Final = __name__
"""The name of their memory."""
_ENQUEUE: Final = "enqueue"
_OF_MISSING_PODS: Final = frozenset({names.NOT_ENOUGH_TASKS, names.NOT_ENOUGH_PODS_OF_TASK})
# Entries of deleted PodGroups are dropped when entries exceed twice the number of PodGroups plus this.
_SPARE_ENTRIES: Final = 1000


class EnqueueArguments(Arguments):
    promise_timeout: PositiveDuration = argument(
        "promiseTimeout",
        timedelta(seconds=60),
        "How long an admitted job counts with all of its minResources while its pods do not exist yet. "
        "Afterwards it counts with what its pods ask for. Without any pod, its PodGroup goes back to Pending, behind "
        "the jobs that waited then. PodGroups of a namespace that replace each other before have this time together.",
    )


class _Lapse(NamedTuple):
    """`at`: seconds since the epoch; `has_inherited`: the job had inherited part of the time that it has used."""

    at: float
    has_inherited: bool


class PromiseTimes:
    """The times as of one cycle.

    Attributes:
        timeout: seconds for which a promise holds without pods.
        next_due: when the first of the promises that were asked about ends; infinite if there is none.
        next_relying_due: the same of promises that rely on evictions.
        is_any_over: whether a job has lost its promise in this cycle, if only to get another.
        are_ignored: enqueue asks which jobs would be admitted if no other had been promised anything.
    """

    def __init__(self, snapshot: Snapshot, configuration: SchedulerConfiguration, memory: dict[str, Any]) -> None:
        arguments: Any = configuration.configurations.get(_ENQUEUE) or EnqueueArguments()
        self.timeout: float = arguments.promise_timeout.total_seconds()
        self.next_due = self.next_relying_due = float("inf")
        self.are_ignored = self.is_any_over = False
        self._snapshot = snapshot
        self._is_first = not memory
        self._unused = UnusedPromises(snapshot, memory)
        self._relying_since: dict[str, float] = memory.setdefault("relying since", {})
        self._lapses: dict[str, _Lapse] = memory.setdefault("lapses", {})
        self._held_back: dict[str, bool] = memory.setdefault("held back", {})
        """Whether promises alone kept the job out when it was last refused."""
        self._answers: dict[int, bool] = {}
        """Row → whether its time is over: several plugins ask about thousands of rows."""
        self._forget_those_gone()

    def is_over(self, row: int) -> bool:
        """Whether the time is over for the job in this row, whose pods request less than it is promised."""
        is_over = self._answers.get(row)
        if is_over is None:
            is_over = self._answers[row] = self._is_over(row)
        return is_over

    def _is_over(self, row: int) -> bool:
        info, now = self._snapshot.jobs[row], self._snapshot.now
        if info is None or not info.ref.uid:
            return False
        first = _missing_since(info, now) if self._is_first else None
        due = self._unused.since(row, info, first) + self.timeout
        if due > now:
            self.next_due = min(self.next_due, due)
        return due <= now

    @contextmanager
    def ignored(self) -> Iterator[None]:
        """Plugins answer inside as if no other job had been promised anything."""
        self.are_ignored = True
        try:
            yield
        finally:
            self.are_ignored = False

    def begin(self, job: Job) -> None:
        """The job was admitted. Its time starts again if it went behind those that waited; otherwise it goes on, from
        what its namespace has used."""
        uid = job.info.ref.uid
        if uid and job.info.min_resources:
            if self.behind(job) is not None:
                self._unused.begin(job.row, job.info)
            elif not job.tasks:
                self._unused.since(job.row, job.info)
        self._answers.pop(job.row, None)
        self._lapses.pop(uid, None)
        self._relying_since.pop(uid, None)
        self._held_back.pop(uid, None)

    def asked_about_all(self) -> None:
        """The cycle has asked about each promise that is not used: the time of others stands still."""
        self._unused.stop_others()

    def rely(self, job: Job) -> None:
        """The job was admitted only because evictions could make room for it."""
        self._relying_since[job.info.ref.uid] = now = self._snapshot.now
        self.next_relying_due = min(self.next_relying_due, now + self.timeout)

    def in_vain(self, rows: Iterable[int]) -> list[int]:
        """Those of the rows for whose job evictions should have freed something by now, if it holds no place: it was
        admitted because of them, and its time is over."""
        return [row for row in rows if self._is_in_vain(row)] if self._relying_since else []

    def _is_in_vain(self, row: int) -> bool:
        info, now = self._snapshot.jobs[row], self._snapshot.now
        since = None if info is None else self._relying_since.get(info.ref.uid)
        if since is None:
            return False
        due = min(since, now) + self.timeout
        if due > now:
            self.next_relying_due = min(self.next_relying_due, due)
        return due <= now

    def lapse(self, job: Job) -> None:
        """The job has lost its promise."""
        uid = job.info.ref.uid
        self.is_any_over = True
        self._answers.pop(job.row, None)
        self._lapses[uid] = _Lapse(self._snapshot.now, has_inherited=self._unused.end(uid))
        self._relying_since.pop(uid, None)
        self._unused.leave(job.namespace, self.timeout)

    def has_lapsed(self, job: Job) -> bool:
        """Whether the job has lost its last promise."""
        return job.info.ref.uid in self._lapses

    def had_inherited(self, job: Job) -> bool:
        """Whether the job has lost its last promise early, because its namespace had used part of the time before."""
        lapse = self._lapses.get(job.info.ref.uid)
        return lapse is not None and lapse.has_inherited

    def behind(self, job: Job) -> float | None:
        """The time such that jobs that waited then go before `job`: when it lost its last promise or, as long as it has
        no pods, when the last promise of its namespace ended, if that has used all of the time. None if neither is so.
        """
        if lapse := self._lapses.get(job.info.ref.uid):
            return lapse.at
        left = None if job.tasks else self._unused.left_over(job.namespace)
        return left.at if left is not None and left.seconds >= self.timeout else None

    def hold_back(self, job: Job, *, alone: bool) -> None:
        """Promises `alone` keep the job out, or something else does, too."""
        self._held_back[job.info.ref.uid] = alone

    def is_held_back(self, job: Job) -> bool | None:
        """Whether promises alone kept the job out when it was last looked at; None if that is not known."""
        return self._held_back.get(job.info.ref.uid)

    def _forget_those_gone(self) -> None:
        most = 2 * len(self._snapshot.jobs) + _SPARE_ENTRIES
        entries: tuple[dict[str, Any], ...] = (
            self._relying_since,
            self._lapses,
            self._held_back,
        )
        for each in entries:
            if len(each) > most:
                known = {info.ref.uid for info in self._snapshot.jobs if info is not None}
                for uid in each.keys() - known:
                    del each[uid]


def _missing_since(info: JobInfo, now: float) -> float:
    """Since when the PodGroup's conditions report missing pods; `now` when they do not."""
    missing = (each for each in info.conditions if each.type == names.UNSCHEDULABLE and each.reason in _OF_MISSING_PODS)
    return min((each.last_transition_time.timestamp() for each in missing if each.last_transition_time), default=now)
