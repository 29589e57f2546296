"""A Job as admission would have stored it, for clusters without webhooks and Jobs older than they are."""

from __future__ import annotations

from typing import Final

import msgspec

from volcano_py.api.names import DEFAULT_QUEUE, DEFAULT_SCHEDULER_NAME
from volcano_py.jobs.model import Job, Task

MAX_RETRY: Final = 3
"""Of jobs and tasks that name none, or 0."""


class JobRules(msgspec.Struct, frozen=True):
    """What the installation decides for Jobs that leave it open."""

    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    default_queue: str = DEFAULT_QUEUE


def with_defaults(job: Job, rules: JobRules) -> Job:
    """The job with everything that was left open filled in."""
    spec = job.spec
    tasks = [_task(task, index) for index, task in enumerate(spec.tasks)]
    spec = msgspec.structs.replace(
        spec,
        tasks=tasks,
        queue=spec.queue or rules.default_queue,
        scheduler_name=spec.scheduler_name or rules.scheduler_name,
        max_retry=spec.max_retry or MAX_RETRY,
        # A job's own minimum of 0 cannot be told from none.
        min_available=spec.min_available or sum(task.minimum for task in tasks),
    )
    return msgspec.structs.replace(job, spec=spec)


def _task(task: Task, index: int) -> Task:
    minimum = task.min_available
    partition = task.partition_policy
    if minimum is None and partition is not None and partition.min_partitions > 0:
        minimum = partition.min_partitions * partition.partition_size
    return msgspec.structs.replace(
        task,
        name=task.name or f"default{index}",
        min_available=task.replicas if minimum is None else minimum,
        max_retry=task.max_retry or MAX_RETRY,
    )
