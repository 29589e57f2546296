"""Reclaim and preempt on small clusters against a search through all choices: they find victims if there are any, never
more than twice as many pods or resources as the best choice has, never part of a gang, and never what is guaranteed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.registries import checked_registry
from volcano_py.api.names import GROUP_NAME
from volcano_py.cluster.manifests import Document, stored
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

REGISTRY: Final = checked_registry()
CONFIGURATION: Final = """
actions: "enqueue, allocate, {action}"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]
- plugins: [{{name: capacity}}, {{name: predicates}}, {{name: nodeorder}}]
configurations:
- name: gangpreempt
  arguments: {{order: priority-first}}
"""
PRIORITIES: Final = (1, 1, 5, 10)
THEIRS: Final = (0, 1)
"""The queues that hold the nodes; the job that waits is in a third one, or for preempt in the first."""

Object = dict[str, Any]
Victims = frozenset[tuple[int, int]]
"""Pods as (job, pod)."""


class Runs(NamedTuple):
    """A job that runs: its minimum, of each pod the node and the CPUs, its queue and its priority."""

    minimum: int
    pods: tuple[tuple[int, int], ...]
    queue: int = 0
    priority: int = 1


class World(NamedTuple):
    """Nodes by their CPUs, the jobs that hold them, what their queues deserve and are guaranteed, how many pods of how
    many CPUs wait, with the highest priority, and the action."""

    nodes: tuple[int, ...]
    jobs: tuple[Runs, ...]
    deserved: tuple[int, int]
    guarantee: tuple[int, int]
    waiting: int
    size: int
    action: str = "reclaim"


class Source(NamedTuple):
    """Where a generated world comes from."""

    between: Callable[[int, int], int]
    one_of: Callable[[Any], Any]


def generated(source: Source) -> World:
    between, one_of = source
    free = [between(2, 5) for _ in range(between(1, 3))]
    nodes = tuple(free)
    action = one_of(("reclaim", "reclaim", "preempt", "gangpreempt"))
    jobs: list[Runs] = []
    for _ in range(between(1, 4)):
        pods: list[tuple[int, int]] = []
        for _ in range(between(1, 4)):
            size = between(1, 2)
            fitting = [node for node, left in enumerate(free) if left >= size]
            if fitting:
                node = one_of(fitting)
                free[node] -= size
                pods.append((node, size))
        if pods:
            queue = one_of(THEIRS) if action == "reclaim" else 0
            jobs.append(Runs(between(1, len(pods)), tuple(pods), queue, one_of(PRIORITIES)))
    holding = [sum(size for job in jobs if job.queue == queue for _, size in job.pods) for queue in THEIRS]
    first, second = (between(min(held, 1), held) for held in holding)
    guarantees = min(first, one_of((0, 0, 1, 2))), min(second, one_of((0, 0, 1)))
    return World(
        nodes,
        tuple(jobs),
        deserved=(first, second),
        guarantee=guarantees if action == "reclaim" else (0, 0),
        waiting=between(1, 3),
        size=between(1, 3),
        action=action,
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    return generated(Source(lambda least, most: draw(st.integers(least, most)), lambda of: draw(st.sampled_from(of))))


# -- the search through all choices ----------------------------------------------------------------------------------


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


def cost_of(world: World, victims: Victims) -> Cost:
    pods = Counter(number for number, _ in victims)
    whole = {number for number, gone in pods.items() if gone == len(world.jobs[number].pods)}
    order = sorted(THEIRS, key=lambda queue: -share(world, queue))
    below = [held(world, victims, queue) < world.deserved[queue] for queue in THEIRS]
    return Cost(
        whole=bool(whole) and world.action != "gangpreempt",
        below=sum(below) if world.action == "reclaim" else 0,
        rank=max(order.index(world.jobs[number].queue) for number in pods) if has_order(world) else 0,
        priority=max(world.jobs[number].priority for number in pods),
        jobs=len(pods),
        gangs=len(whole),
        surplus=sum(gone for number, gone in pods.items() if number not in whole),
        freed=sum(world.jobs[number].pods[pod][1] for number, pod in victims),
    )


def share(world: World, queue: int) -> float:
    return held(world, frozenset(), queue) / max(world.deserved[queue], 1)


def has_order(world: World) -> bool:
    """Whether one of the queues loses first."""
    return world.action == "reclaim" and share(world, 0) != share(world, 1)


def held(world: World, gone: Victims, queue: int) -> int:
    return sum(
        size
        for number, job in enumerate(world.jobs)
        if job.queue == queue
        for pod, (_, size) in enumerate(job.pods)
        if (number, pod) not in gone
    )


def best_choice(world: World) -> Victims | None:
    """The valid choice that costs least; None when there is none."""
    seen: set[Victims] = set()
    found: list[Victims] = []
    left: list[Victims] = [frozenset()]
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


def units(world: World, gone: Victims) -> Iterator[Victims]:
    """What may go next: a surplus pod, or all that a job holds, once what it can give pod by pod would have gone."""
    takes_back = world.action == "reclaim"
    for number, job in enumerate(world.jobs):
        left = [(number, pod) for pod in range(len(job.pods)) if (number, pod) not in gone]
        if not left or (not takes_back and job.priority >= max(PRIORITIES)):
            continue
        surplus = max(len(left) - job.minimum, 0)
        sizes = sorted(job.pods[pod][1] for _, pod in left)
        beyond = held(world, gone, job.queue) - world.deserved[job.queue] if takes_back else 1_000
        spare = held(world, gone, job.queue) - world.guarantee[job.queue] if takes_back else 1_000
        if surplus and beyond > 0:
            yield from (frozenset({pod}) for pod in left if job.pods[pod[1]][1] <= spare)
        if sum(sizes[:surplus]) < beyond and sum(sizes) <= spare:
            yield frozenset(left)


def fits(world: World, gone: Victims) -> bool:
    free = list(world.nodes)
    for number, job in enumerate(world.jobs):
        for pod, (node, size) in enumerate(job.pods):
            free[node] -= size if (number, pod) not in gone else 0
    return sum(left // world.size for left in free) >= world.waiting


# -- the scheduler ---------------------------------------------------------------------------------------------------


def decide(world: World) -> Victims:
    """The victims of one cycle."""
    parsed = parse_configuration(CONFIGURATION.format(action=world.action), REGISTRY.catalogue())
    assert parsed.config is not None, parsed.problems
    documents = [Document("generated", number, body) for number, body in enumerate(_objects(world))]
    simulation = Simulation(stored(documents), parsed.config, REGISTRY)
    simulation.step()
    assert not simulation.reports[-1].plugin_errors
    assert not simulation.reports[-1].action_errors
    assert simulation.state.drift() == 0
    names = (key.removeprefix("default/j").split("-") for key in simulation.cluster.evictions)
    return frozenset((int(job), int(pod)) for job, pod in names)


def _objects(world: World) -> Iterator[Object]:
    total = sum(world.nodes)
    for number, cpus in enumerate(world.nodes):
        yield {
            "kind": "Node",
            "metadata": {"name": f"n{number}"},
            "status": {"allocatable": {"cpu": cpus, "pods": 110}},
        }
    for priority in set(PRIORITIES):
        yield {"kind": "PriorityClass", "metadata": {"name": f"p{priority}"}, "value": priority}
    for queue in THEIRS:
        deserved = {"cpu": world.deserved[queue] if world.action == "reclaim" else total}
        spec = {"deserved": deserved, "guarantee": {"resource": {"cpu": world.guarantee[queue]}}}
        yield {"kind": "Queue", "metadata": {"name": f"q{queue}"}, "spec": spec}
    yield {"kind": "Queue", "metadata": {"name": "q2"}, "spec": {"deserved": {"cpu": total}}}
    for number, job in enumerate(world.jobs):
        yield _group(f"j{number}", f"q{job.queue}", job.minimum, job.priority, "Running")
        for pod, (node, size) in enumerate(job.pods):
            yield _pod(f"j{number}", pod, size, job.priority, node=f"n{node}")
    name = "q2" if world.action == "reclaim" else "q0"
    yield _group("w", name, world.waiting, max(PRIORITIES), "Inqueue")
    for pod in range(world.waiting):
        yield _pod("w", pod, world.size, max(PRIORITIES))


def _group(name: str, queue: str, minimum: int, priority: int, phase: str) -> Object:
    return {
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": minimum, "queue": queue, "priorityClassName": f"p{priority}"},
        "status": {"phase": phase},
    }


def _pod(group: str, number: int, cpus: int, priority: int, node: str = "") -> Object:
    spec: Object = {
        "schedulerName": "volcano",
        "priorityClassName": f"p{priority}",
        "containers": [{"name": "main", "resources": {"requests": {"cpu": cpus}}}],
    }
    return {
        "kind": "Pod",
        "metadata": {
            "name": f"{group}-{number}",
            "namespace": "default",
            "annotations": {GROUP_NAME: group},
        },
        "spec": {**spec, "nodeName": node} if node else spec,
        "status": {"phase": "Running" if node else "Pending"},
    }


# -- the properties --------------------------------------------------------------------------------------------------


def check(world: World, victims: Victims, best: Victims | None) -> None:
    """The plan is never worse than twice the best choice: it exists if there is one, breaks a job or takes queues below
    what they deserve only as far as that one does, and has at most twice its pods and resources."""
    if not best:
        assert not victims, "pods go in vain"
        return
    assert victims, "there is a choice"
    assert fits(world, victims), "what goes is not enough"
    cost, least = cost_of(world, victims), cost_of(world, best)
    assert (cost.whole, cost.below) <= (least.whole, least.below)
    assert len(victims) <= 2 * len(best)
    assert cost.freed <= 2 * least.freed
    for queue in THEIRS:
        assert held(world, victims, queue) >= world.guarantee[queue]
    for number, job in enumerate(world.jobs):
        left = len(job.pods) - sum(job_number == number for job_number, _ in victims)
        assert left == 0 or left >= job.minimum, f"j{number} is torn"


_SMALL_SURPLUS_FIRST: Final = Runs(3, ((0, 2), (1, 2), (0, 1), (1, 2)))
_OF_TWO_SIZES: Final = Runs(1, ((0, 2), (0, 1), (0, 1)))


@settings(deadline=None, max_examples=max(30, settings().max_examples))
@given(worlds())
@example(World((3, 4), (_SMALL_SURPLUS_FIRST,), (5, 0), (0, 0), waiting=3, size=2))
@example(World((4,), (_OF_TWO_SIZES,), (1, 0), (0, 0), waiting=1, size=3))
@example(World((2, 4), (Runs(2, ((1, 2), (1, 1), (0, 2))), Runs(1, ((1, 1),))), (1, 0), (1, 0), waiting=1, size=3))
def test_a_plan_is_never_worse_than_twice_the_best_choice_and_no_gang_is_torn(world: World) -> None:
    check(world, decide(world), best_choice(world))


def test_in_small_clusters_the_best_choice_is_found() -> None:
    """Of many generated clusters with a valid choice, the scheduler finds one that costs no more in each."""
    rng = random.Random(7)
    source = Source(rng.randint, rng.choice)
    solvable = 0
    for _ in count():
        world = generated(source)
        best = best_choice(world)
        if not best:
            continue
        solvable += 1
        victims = decide(world)
        check(world, victims, best)
        assert cost_of(world, victims) == cost_of(world, best), world
        if solvable == 120:
            break


_TWO_NODES: Final = (8, 8)
_ON_FIRST, _ON_SECOND = ((0, 2),) * 4, ((1, 2),) * 4
_SINGLE_PODS: Final = tuple(Runs(1, ((0, 1),)) for _ in range(8))
_WORKED: Final = {
    "single pods": (World((8,), _SINGLE_PODS, (4, 0), (0, 0), waiting=2, size=1), {(7, 0), (6, 0)}),
    "one of two gangs": (
        World(_TWO_NODES, (Runs(4, _ON_FIRST), Runs(4, _ON_SECOND)), (8, 0), (0, 0), waiting=2, size=2),
        {(1, pod) for pod in range(4)},
    ),
    "surplus": (
        World(_TWO_NODES, (Runs(2, _ON_FIRST + _ON_SECOND),), (8, 0), (0, 0), waiting=2, size=2),
        {(0, 7), (0, 6)},
    ),
    "a gang where surplus is too little": (
        World(_TWO_NODES, (Runs(1, _ON_FIRST), Runs(4, _ON_SECOND)), (8, 0), (0, 0), waiting=4, size=2),
        {(1, pod) for pod in range(4)},
    ),
    "the last resort": (
        World((8,), (Runs(8, ((0, 1),) * 8),), (4, 0), (0, 0), waiting=2, size=1),
        {(0, pod) for pod in range(8)},
    ),
    "a guarantee": (World((8,), (Runs(8, ((0, 1),) * 8),), (4, 0), (4, 0), waiting=2, size=1), set()),
    "equal priority": (
        World((4,), (Runs(1, ((0, 1),) * 4, priority=10),), (0, 0), (0, 0), waiting=2, size=1, action="preempt"),
        set(),
    ),
}


@pytest.mark.parametrize(("world", "victims"), _WORKED.values(), ids=_WORKED)
def test_the_worked_examples_are_decided_as_by_the_search(world: World, victims: set[tuple[int, int]]) -> None:
    best = best_choice(world)
    assert decide(world) == victims
    assert (best is None) == (not victims)
    if best is not None:
        assert cost_of(world, frozenset(victims)) == cost_of(world, best)


def test_among_many_candidates_the_choices_of_those_that_go_first_are_compared() -> None:
    """The greedy search takes the first pod, after which its queue has no more to give, and then breaks the gang."""
    surplus, gang = Runs(1, ((0, 2), (2, 1), (1, 2)), 1, 1), Runs(2, ((1, 2), (2, 2)), 1, 10)
    others = tuple(Runs(4, ((node, 1),) * 4, 1, 10) for node in range(3, 73))
    held = 9 + 4 * len(others)
    world = World((2, 4, 3) + (4,) * len(others), (surplus, gang, *others), (0, held - 2), (0, 0), waiting=3, size=1)
    assert decide(world) == {(0, 1), (0, 2)}
