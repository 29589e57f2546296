"""A Job with its defaults filled in, whether or not webhooks have done so when it was stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from volcano_py.api.names import DEFAULT_QUEUE, DEFAULT_SCHEDULER_NAME
from volcano_py.api.queues.choice import queue_for
from volcano_py.jobs.model import Task, VolcanoJob

MAX_RETRY: Final = 3
"""Of jobs and tasks that name none, or 0."""


class JobRules(msgspec.Struct, frozen=True):
    """What the installation decides for Jobs that leave it open. `scheduler_names`: of its schedulers; empty where they
    are not known."""

    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    default_queue: str = DEFAULT_QUEUE
    scheduler_names: frozenset[str] = frozenset()


def with_defaults(job: VolcanoJob, rules: JobRules, namespace: Mapping[str, str] | None = None) -> VolcanoJob:
    """The job with everything that was left open filled in.

    `namespace`: annotations of its namespace, which may name the queue of work that names none.
    """
    spec = job.spec
    tasks = [_task(task, index) for index, task in enumerate(spec.tasks)]
    spec = msgspec.structs.replace(
        spec,
        tasks=tasks,
        queue=queue_for(spec.queue, namespace or {}, rules.default_queue),
        scheduler_name=spec.scheduler_name or rules.scheduler_name,
        max_retry=spec.max_retry or MAX_RETRY,
        # A job's own minimum of 0 looks like none.
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
