"""Reclaim on small clusters against a search through all choices: it finds victims if there are any, never many more
than needed, never part of a gang, and never what is guaranteed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.registries import checked_registry
from volcano_py.api.names import GROUP_NAME
from volcano_py.cluster.manifests import Document, stored
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

REGISTRY: Final = checked_registry()
CONFIGURATION: Final = """
actions: "enqueue, allocate, reclaim"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: capacity}, {name: predicates}, {name: nodeorder}]
"""

Object = dict[str, Any]


class Runs(NamedTuple):
    """A job that runs: its minimum, and of each pod the node and the CPUs."""

    minimum: int
    pods: tuple[tuple[int, int], ...]


class World(NamedTuple):
    """Nodes by their CPUs, the jobs of the queue that holds them, what that queue deserves and is guaranteed, and how
    many pods of how many CPUs wait in the other queue."""

    nodes: tuple[int, ...]
    jobs: tuple[Runs, ...]
    deserved: int
    guarantee: int
    waiting: int
    size: int


@st.composite
def worlds(draw: st.DrawFn) -> World:
    free = [draw(st.integers(2, 5)) for _ in range(draw(st.integers(1, 3)))]
    nodes = tuple(free)
    jobs: list[Runs] = []
    for _ in range(draw(st.integers(1, 4))):
        pods: list[tuple[int, int]] = []
        for _ in range(draw(st.integers(1, 4))):
            size = draw(st.integers(1, 2))
            fitting = [node for node, left in enumerate(free) if left >= size]
            if not fitting:
                break
            node = draw(st.sampled_from(fitting))
            free[node] -= size
            pods.append((node, size))
        if pods:
            jobs.append(Runs(draw(st.integers(1, len(pods))), tuple(pods)))
    held = sum(size for job in jobs for _, size in job.pods)
    return World(
        nodes,
        tuple(jobs),
        deserved=draw(st.integers(0, held)),
        guarantee=draw(st.sampled_from((0, 0, 1, 2))),
        waiting=draw(st.integers(1, 3)),
        size=draw(st.integers(1, 3)),
    )


# -- the search through all choices ----------------------------------------------------------------------------------


class Choice(NamedTuple):
    """How many jobs go whole, how many pods go, and which, as (job, pod)."""

    whole: int
    pods: int
    victims: frozenset[tuple[int, int]]


def best_choice(world: World) -> Choice | None:
    """The valid choice with the fewest whole jobs, then the fewest pods; None when there is none."""

    @cache
    def reachable(gone: frozenset[tuple[int, int]], whole: int) -> Choice | None:
        if _fits(world, gone):
            return Choice(whole, len(gone), gone)
        found = [reachable(gone | unit, whole + is_whole) for unit, is_whole in _units(world, gone)]
        return min((each for each in found if each is not None), key=lambda each: each[:2], default=None)

    return reachable(frozenset(), 0)


def _units(world: World, gone: frozenset[tuple[int, int]]) -> Iterator[tuple[frozenset[tuple[int, int]], bool]]:
    """What may go next: a surplus pod, or all that a job holds."""
    held = _held(world, gone)
    for number, job in enumerate(world.jobs):
        left = [(number, pod) for pod in range(len(job.pods)) if (number, pod) not in gone]
        surplus = len(left) - job.minimum
        if not left:
            continue
        if surplus > 0 and held > world.deserved:
            for _, pod in left:
                if held - job.pods[pod][1] >= world.guarantee:
                    yield frozenset({(number, pod)}), False
        sizes = [job.pods[pod][1] for _, pod in sorted(left, reverse=True)]
        core = sum(sizes[max(surplus, 0) :])
        if held - sum(sizes) + core > world.deserved and held - sum(sizes) >= world.guarantee:
            yield frozenset(left), True


def _held(world: World, gone: frozenset[tuple[int, int]]) -> int:
    return sum(
        size
        for number, job in enumerate(world.jobs)
        for pod, (_, size) in enumerate(job.pods)
        if (number, pod) not in gone
    )


def _fits(world: World, gone: frozenset[tuple[int, int]]) -> bool:
    free = list(world.nodes)
    for number, job in enumerate(world.jobs):
        for pod, (node, size) in enumerate(job.pods):
            free[node] -= size if (number, pod) not in gone else 0
    return sum(left // world.size for left in free) >= world.waiting


# -- the scheduler ---------------------------------------------------------------------------------------------------


def decide(world: World) -> set[tuple[int, int]]:
    """The victims of one cycle, as (job, pod)."""
    parsed = parse_configuration(CONFIGURATION, REGISTRY.catalogue())
    assert parsed.config is not None, parsed.problems
    documents = [Document("generated", number, body) for number, body in enumerate(_objects(world))]
    simulation = Simulation(stored(documents), parsed.config, REGISTRY)
    simulation.step()
    assert not simulation.reports[-1].plugin_errors
    assert not simulation.reports[-1].action_errors
    assert simulation.state.drift() == 0
    names = (key.removeprefix("default/j").split("-") for key in simulation.cluster.evictions)
    return {(int(job), int(pod)) for job, pod in names}


def _objects(world: World) -> Iterator[Object]:
    total = sum(world.nodes)
    for number, cpus in enumerate(world.nodes):
        yield {
            "kind": "Node",
            "metadata": {"name": f"n{number}"},
            "status": {"allocatable": {"cpu": cpus, "pods": 110}},
        }
    spec = {"deserved": {"cpu": world.deserved}, "guarantee": {"resource": {"cpu": world.guarantee}}}
    yield {"kind": "Queue", "metadata": {"name": "q0"}, "spec": spec}
    yield {"kind": "Queue", "metadata": {"name": "q1"}, "spec": {"deserved": {"cpu": total}}}
    for number, job in enumerate(world.jobs):
        yield _group(f"j{number}", "q0", job.minimum, "Running")
        for pod, (node, size) in enumerate(job.pods):
            yield _pod(f"j{number}", pod, size, node=f"n{node}")
    yield _group("w", "q1", world.waiting, "Inqueue")
    for pod in range(world.waiting):
        yield _pod("w", pod, world.size)


def _group(name: str, queue: str, minimum: int, phase: str) -> Object:
    return {
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": minimum, "queue": queue},
        "status": {"phase": phase},
    }


def _pod(group: str, number: int, cpus: int, node: str = "") -> Object:
    spec: Object = {
        "schedulerName": "volcano",
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


def check(world: World, victims: set[tuple[int, int]], best: Choice | None) -> None:
    """What holds whatever the scheduler chose."""
    if not victims:
        return
    assert best is not None, "pods go in vain"
    assert _fits(world, frozenset(victims)), "what goes is not enough"
    assert len(victims) <= 2 * best.pods + _most_in_a_gang(world)
    assert _held(world, frozenset(victims)) >= world.guarantee
    for number, job in enumerate(world.jobs):
        left = len(job.pods) - sum(job_number == number for job_number, _ in victims)
        assert left == 0 or left >= job.minimum, f"j{number} is torn"


def _most_in_a_gang(world: World) -> int:
    """What may go beyond twice the best choice, where a gang goes in which other choices have single pods."""
    return max(job.minimum for job in world.jobs) - 1


@settings(deadline=None, max_examples=max(30, settings().max_examples))
@given(worlds())
def test_no_eviction_is_useless_and_no_gang_is_torn(world: World) -> None:
    check(world, decide(world), best_choice(world))


def test_nearly_always_the_best_choice_is_found() -> None:
    """The search is greedy. Of many generated clusters with a valid choice, it misses few, and where it finds one it
    seldom takes more, and never more than twice as many pods."""
    rng = random.Random(7)
    found = optimal = solvable = 0
    while solvable < 120:
        world = generated(rng)
        best = best_choice(world)
        if best is None or not best.pods:
            continue
        solvable += 1
        victims = decide(world)
        check(world, victims, best)
        assert len(victims) <= 2 * best.pods
        found += bool(victims)
        optimal += len(victims) <= best.pods and bool(victims)
    assert found >= 0.96 * solvable
    assert optimal >= 0.95 * solvable


def generated(rng: random.Random) -> World:
    """A cluster as in `worlds`."""
    free = [rng.randint(2, 5) for _ in range(rng.randint(1, 3))]
    nodes, jobs = tuple(free), []
    for _ in range(rng.randint(1, 4)):
        pods: list[tuple[int, int]] = []
        for _ in range(rng.randint(1, 4)):
            size = rng.randint(1, 2)
            fitting = [node for node, left in enumerate(free) if left >= size]
            if fitting:
                node = rng.choice(fitting)
                free[node] -= size
                pods.append((node, size))
        if pods:
            jobs.append(Runs(rng.randint(1, len(pods)), tuple(pods)))
    held = sum(size for job in jobs for _, size in job.pods)
    guarantee = rng.choice((0, 0, 1, 2))
    return World(nodes, tuple(jobs), rng.randint(0, held), guarantee, rng.randint(1, 3), rng.randint(1, 3))
