"""How many pods of a job may be evicted at a time: the disruption budget in its PodGroup's annotations."""

from __future__ import annotations

from typing import Final

from volcano_py.api.annotations.known import JDB_MAX_UNAVAILABLE, JDB_MIN_AVAILABLE
from volcano_py.framework.job import Job
from volcano_py.state.status import TaskStatus

_WITHOUT_BUDGET: Final = 1


def budget_of(job: Job) -> int:
    """Pods that may be evicted now.

    With `jdb-min-available` those that run beyond it, with `jdb-max-unavailable` those that may be missing and are not;
    of both the first holds. Without either, with one that cannot be read, or where fewer run than must, one.
    """
    running = job.count(TaskStatus.RUNNING)
    annotations = job.info.annotations
    if (minimum := JDB_MIN_AVAILABLE.value(annotations)) is not None:
        least = minimum.of(job.tasks)
        return running - least if running >= least else _WITHOUT_BUDGET
    if (most := JDB_MAX_UNAVAILABLE.value(annotations)) is not None:
        missing = job.tasks - job.count(TaskStatus.SUCCEEDED, TaskStatus.FAILED) - running
        return max(most.of(job.tasks) - missing, 0)
    return _WITHOUT_BUDGET
