"""The best victims by looking at all choices: the rules of docs/guide/evictions.md once more, without the scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tests.property.evictions.small_clusters import PRIORITIES, THEIRS, Runs, Victims, World


class Cost(NamedTuple):
    """What makes a choice better or worse, in this order. Under `priority-first`, `whole` does not count."""

    whole: bool
    below: int
    rank: int
    priority: int
    jobs: int
    gangs: int
    surplus: int
    freed: int
    pods: int
    turn: tuple[int, int, int]


def cost_of(world: World, victims: Victims) -> Cost:
    pods = Counter(number for number, _ in victims)
    whole = {number for number, gone in pods.items() if gone == len(world.jobs[number].pods)}
    order = sorted(THEIRS, key=lambda queue: (-share(world, queue), -queue))
    below = [held(world, victims, queue) < world.deserved[queue] for queue in THEIRS]
    return Cost(
        whole=bool(whole) and world.action != "gangpreempt",
        below=sum(below) if world.takes_back and not world.fair else 0,
        rank=max(order.index(world.jobs[number].queue) for number in pods) if world.takes_back else 0,
        priority=max(world.jobs[number].priority for number in pods),
        jobs=len(pods),
        gangs=len(whole),
        surplus=sum(gone for number, gone in pods.items() if number not in whole),
        freed=sum(world.jobs[number].pods[pod][1] for number, pod in victims),
        pods=len(victims),
        turn=turn(world, victims),
    )


def share(world: World, queue: int) -> float:
    return held(world, frozenset(), queue) / (1 if world.fair else max(world.deserved[queue], 1))


def held(world: World, gone: Victims, queue: int) -> int:
    return sum(
        size
        for number, job in enumerate(world.jobs)
        if job.queue == queue
        for pod, (_, size) in enumerate(job.pods)
        if (number, pod) not in gone
    )


def best_choice(world: World) -> Victims | None:
    """The valid choice that costs least, None when there is none."""
    seen: set[Victims] = set()
    found: list[Victims] = []
    left: list[Victims] = [frozenset()] if may_claim(world) else []
    while left:
        gone = left.pop()
        if gone in seen:
            continue
        seen.add(gone)
        if fits(world, gone):
            found.append(gone)
        else:
            left += [gone | unit for unit in units(world, gone)]
    if frozenset() in found:
        return frozenset()
    return min(found, key=lambda victims: cost_of(world, victims), default=None)


def turn(world: World, victims: Victims) -> tuple[int, int, int]:
    """The last unit in turn: of the least job priority first, then of the newest job, and its last pod."""
    last = dict(sorted(victims))
    whole = {number for number in last if sum(number == other for other, _ in victims) == len(world.jobs[number].pods)}
    pods = [(number, last[number] if number in whole else pod) for number, pod in victims]
    return max((world.jobs[number].priority, -number, -pod) for number, pod in pods)


def may_claim(world: World) -> bool:
    """Whether the queue of the job that waits deserves all that the job asks for."""
    is_limited = world.takes_back and not world.fair and world.due is not None
    return not is_limited or world.waiting * world.size <= (world.due or 0)


def units(world: World, gone: Victims) -> Iterator[Victims]:
    """What may go next: a surplus pod, or all that a job holds, once what it can give pod by pod would have gone."""
    for number, job in enumerate(world.jobs):
        left = [pod for pod in range(len(job.pods)) if (number, pod) not in gone]
        if not left or (not world.takes_back and job.priority >= max(PRIORITIES)):
            continue
        for pod in left:
            if can_spare(job, left, pod) and is_free(job, left, [pod]) and gives(world, gone, job, job.pods[pod][1]):
                yield frozenset({(number, pod)})
        size, first = (sum(job.pods[pod][1] for pod in pods) for pods in (left, smallest_surplus(job, left)))
        if is_free(job, left, left) and gives(world, gone, job, size, first):
            yield frozenset((number, pod) for pod in left)


def can_spare(job: Runs, left: list[int], pod: int) -> bool:
    """Whether the job and the pod's role keep their minimums without it."""
    role = job.role_of(pod)
    of_role = sum(job.role_of(other) == role for other in left)
    return len(left) > job.minimum and (role < 0 or of_role > job.roles[role].minimum)


def smallest_surplus(job: Runs, left: list[int]) -> list[int]:
    """As many pods as the job can give one by one, the smallest first."""
    gives: list[int] = []
    for pod in sorted(left, key=lambda pod: job.pods[pod][1]):
        if can_spare(job, [other for other in left if other not in gives], pod):
            gives.append(pod)
    return gives


def is_free(job: Runs, left: list[int], going: list[int]) -> bool:
    """Whether neither the pods themselves nor the job's budget keep these from going."""
    gone = len(job.pods) - len(left)
    return job.spared.isdisjoint(going) and (job.budget is None or gone + len(going) <= job.budget)


def gives(world: World, gone: Victims, job: Runs, size: int, first: int = 0) -> bool:
    """Whether the job's queue gives a unit of this size, of which the job could give `first` pod by pod. Between fair
    shares, the claim may have as much as the queue keeps."""
    has = held(world, gone, job.queue)
    if world.fair:
        return world.waiting * world.size <= has - size
    is_above = has - first > world.deserved[job.queue]
    return not world.takes_back or (is_above and has - size >= world.guarantee[job.queue])


def fits(world: World, gone: Victims) -> bool:
    free = list(world.nodes)
    for number, job in enumerate(world.jobs):
        for pod, (node, size) in enumerate(job.pods):
            free[node] -= size if (number, pod) not in gone else 0
    return sum(left // world.size for left in free) >= world.waiting
