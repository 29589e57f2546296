"""Tasks whose containers crash again and again, as policies on TaskFailed see them.

Pods show when they crashed last, not since when they crash. So the Job's status notes since when a task has failed, as
long as a policy waits for its timeout.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from volcano_py.jobs.members import Member
from volcano_py.jobs.model import Task, VolcanoJob

_NOTE: Final = "failing/"
"""Keys in `controlledResources`, with the task's name behind it: `2026-01-31T12:00:00+00:00`."""


def failing_since(job: VolcanoJob, task: Task, members: Mapping[int, Member]) -> float | None:
    """Since when the task has failed, in seconds since the epoch; None when it has not. `members`: its current pods."""
    living = [member for member in members.values() if member.phase in ("Pending", "Running")]
    crashes = sum(member.restarts for member in members.values())
    if task.max_retry <= 0 or not living or crashes < task.max_retry:
        return None
    try:
        return datetime.fromisoformat(job.status.controlled_resources.get(_NOTE + task.name, "")).timestamp()
    except ValueError:
        return max(member.changed for member in living)


def crash_note(task: Task, since: float) -> Mapping[str, str]:
    """What the status notes: to the second, in `controlledResources`."""
    return {_NOTE + task.name: datetime.fromtimestamp(int(since), UTC).isoformat()}
