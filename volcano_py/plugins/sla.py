"""sla: a job that has waited longer than configured is admitted, and keeps the places it finds."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field

from volcano_py.api.annotations.known import SLA_WAITING_TIMES
from volcano_py.config.arguments import Arguments, argument
from volcano_py.config.values import PositiveDuration
from volcano_py.framework.job import Job
from volcano_py.framework.plugin import Key, Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.votes import ABSTAIN, PERMIT, Ballot

_NO_LIMIT: Final = float("inf")


class SlaArguments(Arguments):
    waiting_time: Annotated[PositiveDuration | None, Field()] = argument(
        "sla-waiting-time",
        None,
        "How long a job may wait, such as `1h30m`. The PodGroup's annotation `volcano.sh/sla-waiting-time` takes "
        "precedence. None: no limit.",
    )


class Sla(Plugin):
    """Jobs with a limit go first, the one whose limit is reached first before the others.

    Past its limit a job is admitted by enqueue, and in allocate keeps the places it found though its gang is not
    complete. A refusal in the same or an earlier tier still wins. Pods are evicted for whole gangs only.
    """

    name = "sla"
    evictions_last = True  # (but for the job's own time, which it asks a cycle for)
    arguments_type = SlaArguments

    def on_session_open(self, ssn: Session) -> None:
        self._now, self._wakeups = ssn.now, ssn.wakeups
        limit: timedelta | None = self.arguments.waiting_time
        self._limit = _NO_LIMIT if limit is None else limit.total_seconds()
        self._due: dict[int, float] = {}

    def job_order(self, job: Job) -> Key:
        return self._due_at(job)

    def job_enqueueable(self, job: Job) -> Ballot:
        return self._vote(job)

    def job_pipelined(self, job: Job) -> Ballot:
        return self._vote(job)

    def _vote(self, job: Job) -> Ballot:
        due = self._due_at(job)
        if due <= self._now:
            return PERMIT
        if due < _NO_LIMIT:
            self._wakeups.recheck_at(due, job.row)
        return ABSTAIN

    def _due_at(self, job: Job) -> float:
        """When the job's time is up, infinite when it has no limit."""
        due = self._due.get(job.row)
        if due is None:
            due = self._due[job.row] = job.created + self._limit_of(job)
        return due

    def _limit_of(self, job: Job) -> float:
        """Seconds, by the annotation or the configuration."""
        for annotation in SLA_WAITING_TIMES:
            if (own := annotation.value(job.info.annotations)) is not None:
                return own
        return self._limit
