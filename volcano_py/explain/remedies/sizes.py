"""Sizes that are worth a try, and the largest of them that helps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from volcano_py.explain.target import Target, queues_above
from volcano_py.explain.world import World

T = TypeVar("T")

_MOST_SIZES: Final = 256


def sizes_below(world: World, target: Target, name: str, request: int) -> Sequence[int]:
    """Sizes below the request with which something that is free is used up exactly, largest first."""
    ssn = world.session
    names = ssn.ledger.axis.names
    nodes, dim = ssn.ledger.nodes, names.index(name)
    need = max(target.need - world.placed(target.group), 1) if target.group else 1
    free = set((nodes.allocatable[nodes.present, dim] - nodes.used[nodes.present, dim]).tolist())
    places = {value // pods for value in free for pods in range(1, min(need, 64) + 1)}
    job = world.jobs.get(target.group)
    above = queues_above(world, job.queue.name) if job is not None else ()
    for queue in (world.report.queues[each] for each in above if each in world.report.queues):
        for limit in (queue.capability, queue.real_capability, queue.deserved):
            if name in limit:
                places.add((limit[name] - queue.allocated.get(name, 0)) // need)
    namespace = target.name.partition("/")[0]
    for quota in ssn.snapshot.quotas.get(namespace, ()):
        for key in (name, f"requests.{name}", f"limits.{name}"):
            if key in quota.hard:
                places.add((quota.hard[key] - quota.used.get(key, 0)) // need)
    return sorted((size for size in places if 0 < size < request), reverse=True)[:_MOST_SIZES]


def first_that(values: Sequence[T], holds: Callable[[T], bool]) -> T | None:
    """The first value for which it holds, found by halves: where it holds for one, it holds for the later ones."""
    if not values or not holds(values[-1]):
        return None
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(values[middle]) else (middle + 1, high)
    return values[low]
