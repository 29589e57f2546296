"""Who runs instead: the jobs that hold what the workload lacks."""

from __future__ import annotations

from typing import Final

from volcano_py.explain.model import Holder, Limit
from volcano_py.explain.staying import Staying
from volcano_py.explain.target import Target, queues_below
from volcano_py.explain.world import World
from volcano_py.framework.job import Job

_MOST: Final = 5
_HELD: Final = frozenset({"queue", "cluster", "nodes"})


def holders(world: World, binding: Limit | None, target: Target) -> tuple[Holder, ...]:
    """The largest holders of the resource of the limit that binds: in that queue and below it or, where these hold
    nothing, in the cluster."""
    names = world.session.ledger.axis.names
    if binding is None or binding.kind not in _HELD or binding.resource not in names:
        return ()
    dim = names.index(binding.resource)
    inside = queues_below(world, binding.name) if binding.kind == "queue" else None
    found = [
        (int(job.allocated[dim]), job)
        for job in world.jobs.values()
        if job.key != target.group and job.allocated_tasks and job.allocated[dim]
    ]
    if inside is not None and any(job.queue.name in inside for _, job in found):
        found = [each for each in found if each[1].queue.name in inside]
    found.sort(key=lambda each: (-each[0], each[1].key))
    stay = Staying(world, target)
    return tuple(_holder(world, job, stay.why(job)) for _, job in found[:_MOST])


def _holder(world: World, job: Job, stays: str) -> Holder:
    report = world.report.queues.get(job.queue.name)
    return Holder(
        job=job.key,
        queue=job.queue.name,
        pods=job.allocated_tasks,
        priority=job.priority,
        holds=world.amounts(job.allocated),
        queue_allocated=dict(report.allocated) if report is not None else {},
        queue_deserved=dict(report.deserved) if report is not None else {},
        stays=stays,
    )
