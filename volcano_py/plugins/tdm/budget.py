"""How many pods of a job may be evicted at a time: the disruption budget in its PodGroup's annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from volcano_py.api.names import JDB_MAX_UNAVAILABLE, JDB_MIN_AVAILABLE
from volcano_py.framework.job import Job
from volcano_py.state.status import TaskStatus

_WITHOUT_BUDGET: Final = 1
_LONGEST: Final = 9  # digits


def budget_of(job: Job) -> int:
    """Pods that may be evicted now.

    With `jdb-min-available` those that run beyond it, with `jdb-max-unavailable` those that may be missing and are not;
    of both the first holds. Without either, with one that cannot be read, or where fewer run than must, one.
    """
    running = job.count(TaskStatus.RUNNING)
    annotations: Mapping[str, str] = job.info.annotations
    if (least := _amount(annotations.get(JDB_MIN_AVAILABLE), job.tasks)) is not None:
        return running - least if running >= least else _WITHOUT_BUDGET
    if (most := _amount(annotations.get(JDB_MAX_UNAVAILABLE), job.tasks)) is not None:
        missing = job.tasks - job.count(TaskStatus.SUCCEEDED, TaskStatus.FAILED) - running
        return max(most - missing, 0)
    return _WITHOUT_BUDGET


def _amount(text: str | None, of: int) -> int | None:
    """A number, or a percentage of `of` rounded up; None when it is neither."""
    if text is None:
        return None
    digits = text.strip().removesuffix("%")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST):
        return None
    return -(-int(digits) * of // 100) if text.strip().endswith("%") else int(digits)
