"""The place of a workload in its queue, and of the queue among queues, by the order of the scheduler's plugins."""

from __future__ import annotations

from collections import Counter
from typing import Final

from volcano_py.explain.asked import asked
from volcano_py.explain.model import Ahead, Position
from volcano_py.explain.target import Target
from volcano_py.explain.world import World
from volcano_py.framework.job import Job
from volcano_py.framework.ordering.queue_order import queue_order

_MOST_LISTED: Final = 5


def position(world: World, target: Target) -> Position | None:
    """None when the job is not in the order: it runs, or its queue does not exist, or it has no PodGroup."""
    job, waiting = world.jobs.get(target.group), _waiting(world)
    if job is None or job not in waiting:
        return None
    ssn = world.session
    in_queue = sorted((each for each in waiting if each.queue is job.queue), key=ssn.ask.job_key)
    place = in_queue.index(job)
    queues = {each.queue.name: each.queue for each in waiting}
    order = queue_order(ssn, queues.values())
    names = [order.pop().name for _ in range(len(queues))]
    before: Counter[str] = Counter()
    for each in in_queue[:place]:
        before.update(asked(pod for pod in world.pods_by_group.get(each.key, ()) if not pod.spec.node_name))
    report = world.report.queues.get(job.queue.name)
    return Position(
        queue=job.queue.name,
        place=place + 1,
        waiting=len(in_queue),
        priority=job.priority,
        queue_place=names.index(job.queue.name) + 1,
        queues=len(names),
        queue_share=round(report.share, 4) if report is not None else 0.0,
        created=job.created,
        queue_priority=job.queue.priority,
        ahead=tuple(_ahead(each) for each in in_queue[:place][:_MOST_LISTED]),
        before=dict(before),
    )


def _waiting(world: World) -> list[Job]:
    return [job for job in world.jobs.values() if job.pending_tasks]


def _ahead(job: Job) -> Ahead:
    return Ahead(job.key, job.priority, job.created, job.pending_tasks)
