"""What a trial costs: jobs that wait for something else are not looked at again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.support.measuring.counted_work import work_of
from tests.unit.explain.causes import gang, node, running, world_of
from volcano_py.api.effects import Effect, Event, PodCondition
from volcano_py.api.objects import Node, Pod
from volcano_py.explain.target import find, has_started
from volcano_py.explain.world import Change, World

WAITING = 40


def others(count: int) -> str:
    """Gangs that wait for room."""
    return "".join(gang(1, f"{6 + number / 1000}").replace("train", f"waits-{number}") for number in range(count))


def crowded() -> World:
    return world_of(node() + running("4") + others(WAITING) + gang(1, "5"))


def smaller(world: World) -> Change:
    """The workload asks for as much as there is."""
    pod = world.simulation.cluster.get("Pod", "default/train-0", Pod)
    assert pod is not None
    container = replace(
        pod.spec.containers[0], resources=replace(pod.spec.containers[0].resources, requests={"cpu": "4"})
    )
    return Change("Pod", "default/train-0", replace(pod, spec=replace(pod.spec, containers=[container])))


def trial(world: World, *changes: Change) -> Callable[[], None]:
    def make() -> None:
        with world.trial(changes):
            pass

    return make


def test_trials_begin_with_what_rests_also_after_other_trials() -> None:
    """The first one places the workload: what its queue holds changes with that, and changes back."""
    world = crowded()
    change = smaller(world)
    of_trials = [work_of(trial(world, change)) for _ in range(2)]
    world.simulation._scheduler.forget()
    assert max(of_trials) < 0.7 * work_of(trial(world, change))


def test_jobs_rest_though_their_messages_would_be_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another node, too small for them: 0/2 nodes would fit instead of 0/1."""
    world = crowded()
    written: list[Effect] = []
    known = world.simulation.cluster.get("Node", "n1", Node)
    assert known is not None
    small = replace(known, metadata=replace(known.metadata, name="n2", uid="n2"))
    small = replace(small, status=replace(small.status, allocatable={"cpu": "1", "pods": "9"}))
    monkeypatch.setattr(world.simulation._scheduler, "_emit", written.extend)
    with world.trial([Change("Node", "n2", small)]):
        assert not [each for each in written if isinstance(each, PodCondition | Event)]
        resting = world.simulation._scheduler._resting._memory
    assert resting is not None
    assert len(resting.jobs) == WAITING + 1


def test_a_trial_ends_with_the_action_that_starts_the_workload() -> None:
    world = crowded()
    target = find(world, "podgroup", "default/train")
    with world.trial([smaller(world)], until=lambda: has_started(world, target)):
        assert world.placed("default/train") == 1
        assert list(world.simulation.reports[-1].actions) == ["enqueue", "allocate"]
    assert world.placed("default/train") == 0


def test_what_starts_has_its_phase_at_once_so_that_one_more_cycle_shows_that_all_has_settled() -> None:
    world = crowded()
    before = len(world.simulation.reports)
    with world.trial([smaller(world)]):
        group = world.group("default/train")
        assert group is not None
        assert group.status.phase == "Running"
        assert len(world.simulation.reports) == before + 2
