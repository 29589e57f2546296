"""Edits of a Job's spec, as policies on JobUpdated see them.

The generation that they have answered is noted in the Job's status, and since when a newer one waits for its timeout.
So no edit is lost with a controller, and none is answered twice. Jobs without such a policy have no note.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from volcano_py.jobs.model import JobEvent, VolcanoJob
from volcano_py.jobs.policies.evaluation import Occurrence, policy_for

NOTE: Final = "generation"
"""Key in `controlledResources`: `3`, or `3 since 2026-01-31T12:00:00+00:00` while a later generation waits."""
_SINCE: Final = " since "  # to the second


class Edit(msgspec.Struct, frozen=True):
    """`answered`: the last generation that policies have had their say about; `since`: when a later one was seen, in
    seconds since the epoch (None: there is none)."""

    answered: int
    since: float | None = None

    @classmethod
    def of(cls, job: VolcanoJob, now: float) -> Edit | None:
        """Edits that are not handled yet; None when no policy depends on them."""
        if policy_for(job, Occurrence(JobEvent.JOB_UPDATED)) is None:
            return None
        generation = job.metadata.generation
        noted = _read(job.status.controlled_resources.get(NOTE, ""))
        if noted is None or noted.answered == generation:
            return cls(generation)  # a job that is seen for the first time has not been edited
        return cls(noted.answered, now if noted.since is None else noted.since)

    def __str__(self) -> str:
        if self.since is None:
            return str(self.answered)
        return f"{self.answered}{_SINCE}{datetime.fromtimestamp(int(self.since), UTC).isoformat()}"


def _read(text: str) -> Edit | None:
    """None for a note that says nothing."""
    answered, waits, since = text.partition(_SINCE)
    try:
        return Edit(int(answered), datetime.fromisoformat(since).timestamp() if waits else None)
    except ValueError:
        return None
