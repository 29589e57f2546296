"""Reclaim and preempt on small clusters against a search through all choices: they find victims if there are any, never
more than twice as many pods or resources as the best choice has, never part of a gang, and never what is guaranteed."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.property.evictions.exact_search import best_choice, cost_of, fits, held
from tests.property.evictions.small_clusters import PRIORITIES, THEIRS, Role, Runs, Victims, World, decide


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
            jobs.append(marked(Runs(between(1, len(pods)), tuple(pods), queue, one_of(PRIORITIES)), source))
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
        due=one_of((None, None, None, between(1, 9))),
    )


def marked(job: Runs, source: Source) -> Runs:
    """The same, sometimes with roles, a budget, or pods that are not preemptable."""
    between, one_of = source
    pods = len(job.pods)
    if one_of((False, False, True)):
        first = between(1, pods)
        roles = Role(first, between(0, first)), Role(pods - first, between(0, pods - first))
        job = job._replace(roles=roles, minimum=max(job.minimum, sum(role.minimum for role in roles)))
    if one_of((False, False, True)):
        job = job._replace(budget=between(0, pods))
    if one_of((False, False, False, True)):
        job = job._replace(spared=frozenset({between(0, pods - 1)}))
    return job


@st.composite
def worlds(draw: st.DrawFn) -> World:
    return generated(Source(lambda least, most: draw(st.integers(least, most)), lambda of: draw(st.sampled_from(of))))


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


def test_between_fair_shares_the_best_choice_is_found_and_without_one_nothing_goes() -> None:
    """The claiming queue never gets more than the other one keeps."""
    rng = random.Random(1)
    worlds = (generated(Source(rng.randint, rng.choice)) for _ in count())
    solvable = 0
    for made in (each for each in worlds if each.action == "reclaim"):
        world = made._replace(fair=True, deserved=(0, 0), guarantee=(0, 0), due=None)
        best, victims = best_choice(world), decide(world)
        check(world, victims, best)
        if not best:
            continue
        solvable += 1
        assert cost_of(world, victims) == cost_of(world, best), world
        if solvable == 40:
            break


_ON_FIRST, _ON_SECOND = ((0, 2),) * 4, ((1, 2),) * 4
_OLDER, _NEWER = Runs(4, _ON_FIRST), Runs(4, _ON_SECOND)
_SINGLE_PODS: Final = tuple(Runs(1, ((0, 1),)) for _ in range(8))
_EXACT: Final = Runs(8, ((0, 1),) * 8)
_WITH_ROLES: Final = Runs(3, ((0, 2), (0, 2), (0, 2), (1, 2), (1, 2)), roles=(Role(1, 1), Role(4, 2)))
_EQUALS: Final = (Runs(1, ((0, 1),) * 4, priority=10), Runs(4, ((0, 1),) * 4, priority=10))
_GANGS_OF_SIX: Final = (Runs(6, ((0, 1),) * 6), Runs(6, ((1, 1),) * 6))


def two_by_eight(*jobs: Runs, waiting: int) -> World:
    """Two nodes of 8 CPUs, of which either queue deserves half; so many pods of 2 CPUs wait."""
    return World((8, 8), jobs, (8, 0), (0, 0), waiting, size=2, due=8)


def with_roles(waiting: int) -> World:
    return World((6, 4), (_WITH_ROLES,), (3, 0), (0, 0), waiting, size=2, due=6)


def fair_halves(waiting: int) -> World:
    return World((6, 6), _GANGS_OF_SIX, (0, 0), (0, 0), waiting, size=1, fair=True)


def whole(number: int, pods: int) -> set[tuple[int, int]]:
    return {(number, pod) for pod in range(pods)}


# Two queues, or two priorities, in the order of the scenarios in tests/scenarios/whole_gangs; `j0` is the oldest job.
_WORKED: Final = {
    "1 single pods": (World((8,), _SINGLE_PODS, (4, 0), (0, 0), waiting=2, size=1, due=4), {(7, 0), (6, 0)}),
    "2 one of two gangs": (two_by_eight(_OLDER, _NEWER, waiting=2), whole(1, 4)),
    "3 surplus": (two_by_eight(Runs(2, _ON_FIRST + _ON_SECOND), waiting=2), {(0, 7), (0, 6)}),
    "4 a gang where surplus is too little": (two_by_eight(Runs(1, _ON_FIRST), _NEWER, waiting=4), whole(1, 4)),
    "5 the last resort": (World((8,), (_EXACT,), (4, 0), (0, 0), waiting=2, size=1, due=4), whole(0, 8)),
    "5 a guarantee": (World((8,), (_EXACT,), (4, 0), (4, 0), waiting=2, size=1, due=4), set()),
    "6 a pod that is not preemptable": (
        two_by_eight(_OLDER, _NEWER._replace(spared=frozenset({0})), waiting=2),
        whole(0, 4),
    ),
    "7 a budget of one": (two_by_eight(_OLDER, _NEWER._replace(budget=1), waiting=2), whole(0, 4)),
    "8 roles, for two": (with_roles(waiting=2), {(0, 4), (0, 3)}),
    "8 roles, for three": (with_roles(waiting=3), whole(0, 5)),
    "9 equal priority": (World((8,), _EQUALS, (0, 0), (0, 0), waiting=2, size=1, action="preempt"), set()),
    "10 fair shares, six": (fair_halves(waiting=6), whole(1, 6)),
    "10 fair shares, four": (fair_halves(waiting=4), whole(1, 6)),
    "10 fair shares, seven": (fair_halves(waiting=7), set()),
}


@pytest.mark.parametrize("variant", ["", "gang"])
@pytest.mark.parametrize(("world", "victims"), _WORKED.values(), ids=_WORKED)
def test_the_worked_examples_are_decided_as_by_the_search(
    world: World, victims: set[tuple[int, int]], variant: str
) -> None:
    """By `preempt` and `reclaim` as by `gangpreempt` and `gangreclaim`."""
    world = world._replace(action=f"{variant}{world.action}")
    assert (best_choice(world) or frozenset()) == victims
    assert decide(world) == victims


def test_of_choices_that_free_as_much_that_of_the_newest_pods_is_made() -> None:
    """A small pod of one node and a large one of the other: the two older ones, or the two newer ones."""
    older, newer = Runs(1, ((0, 1), (1, 2)), 1, 5), Runs(1, ((1, 2), (0, 1)), 1, 5)
    assert decide(World((2, 4), (older, newer), (0, 2), (0, 1), waiting=3, size=1)) == {(0, 1), (1, 1)}


def test_among_many_candidates_the_choices_of_those_that_go_first_are_compared() -> None:
    """The greedy search takes the first pod, after which its queue has no more to give, and then breaks the gang."""
    surplus, gang = Runs(1, ((0, 2), (2, 1), (1, 2)), 1, 1), Runs(2, ((1, 2), (2, 2)), 1, 10)
    others = tuple(Runs(4, ((node, 1),) * 4, 1, 10) for node in range(3, 73))
    held = 9 + 4 * len(others)
    world = World((2, 4, 3) + (4,) * len(others), (surplus, gang, *others), (0, held - 2), (0, 0), waiting=3, size=1)
    assert decide(world) == {(0, 1), (0, 2)}
