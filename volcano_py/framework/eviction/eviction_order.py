"""In which order victims go."""

from __future__ import annotations

import numpy as np

from volcano_py.framework.calls.combined import CombinedAnswers
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.job import Task
from volcano_py.state.table.ledger import Rows


def eviction_order(cluster: ClusterCopy, ask: CombinedAnswers, task: Task, victims: Rows) -> list[int]:
    """Who goes first: of the queues the first in victim queue order, of their jobs the one that orders last, of its
    tasks the last in task order."""
    by_job: dict[int, list[int]] = {}
    for row in victims.tolist():
        by_job.setdefault(int(cluster.ledger.tasks.job[row]), []).append(row)
    jobs = [job for row in by_job if (job := cluster.job(row)) is not None]
    if len(jobs) > 1:
        jobs.sort(key=ask.job_key, reverse=True)
        queues = {job.queue.name: job.queue for job in jobs}
        if len(queues) > 1:
            places = {queue.name: place for place, queue in enumerate(ask.victim_queues(queues.values(), task))}
            jobs.sort(key=lambda job: places[job.queue.name])
    ordered: list[int] = []
    for job in jobs:
        rows = ask.ordered_tasks(np.array(by_job[job.row], dtype=np.intp))
        ordered.extend(reversed(rows.tolist()))
    return ordered
