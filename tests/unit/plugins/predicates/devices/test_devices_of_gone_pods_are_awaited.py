"""A pod that was evicted is gone a moment before its claim is released: no other pod is evicted meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tests.support.cycles import Cycles
from tests.support.placement.devices import allocated, device_claim, device_class, resource_slice, with_claims
from tests.support.sessions import Objects, node, pod, pod_group, priority_class
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.enqueue import Enqueue
from volcano_py.actions.preempt import Preempt
from volcano_py.api.effects import Evict, PodCondition
from volcano_py.plugins.conformance import Conformance
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.predicates import Predicates
from volcano_py.plugins.priority import Priority


def low(number: int) -> Iterator[Objects]:
    """A node, and the pod that has its only device."""
    here, name = f"n{number}", f"low{number}"
    held = device_claim(name, allocation=allocated((here, "d0"), node=here), users=[f"pod-team-{name}"])
    yield node(here)
    yield resource_slice(f"s{number}", "d0", on=here)
    yield pod_group(name, phase="Running")
    yield held
    yield with_claims(pod(name, group=name, on=here, cpu="1", priority=0), name)


def urgent() -> list[Objects]:
    asking = with_claims(pod("high", group="high", cpu="1", priority=100), "new")
    return [priority_class("high", 100), pod_group("high", priority_class="high"), device_claim("new"), asking]


def cycles() -> Cycles:
    objects = [*urgent(), *(each for number in range(3) for each in low(number))]
    plugins = [Priority, Gang, Conformance, Predicates]
    return Cycles(device_class(), *objects, actions=[Enqueue, Allocate, Preempt], plugins=plugins)


def test_one_pod_goes_however_late_its_claim_is_released() -> None:
    running, victims = cycles(), list[str]()
    for step in range(4):
        running.effects.clear()
        running.run(after=0.05 * step)
        for evict in [each for each in running.effects if isinstance(each, Evict)]:
            victims.append(evict.pod.name)
            running.state.assume_evicted(evict.pod.uid)
            running.state.delete("Pod", pod(evict.pod.name))
    assert len(victims) == 1


def test_the_same_with_the_promise_written() -> None:
    running, victims = cycles(), list[str]()
    asking = with_claims(pod("high", group="high", cpu="1", priority=100), "new")
    for step in range(4):
        running.effects.clear()
        running.run(after=0.05 * step)
        for effect in list(running.effects):
            if isinstance(effect, Evict):
                victims.append(effect.pod.name)
                running.state.delete("Pod", pod(effect.pod.name))
            elif isinstance(effect, PodCondition) and effect.nominated_node:
                asking = replace(asking, status=replace(asking.status, nominated_node_name=effect.nominated_node))
                running.state.upsert("Pod", asking)
    assert len(victims) == 1


def test_once_the_claim_is_released_the_pod_is_bound() -> None:
    running = cycles()
    running.run()
    (victim,) = [each.pod.name for each in running.effects if isinstance(each, Evict)]
    running.state.delete("Pod", pod(victim))
    running.run(after=0.05)
    assert running.binds == {}
    running.state.upsert("ResourceClaim", device_claim(victim))
    running.run(after=0.1)
    assert running.binds == {"high": f"n{victim.removeprefix('low')}"}


def test_a_device_that_somebody_else_is_given_meanwhile_is_not_awaited() -> None:
    running = cycles()
    running.run()
    (victim,) = [each.pod.name for each in running.effects if isinstance(each, Evict)]
    running.state.delete("Pod", pod(victim))
    here = f"n{victim.removeprefix('low')}"
    running.state.upsert(
        "ResourceClaim", device_claim(victim, allocation=allocated((here, "d0"), node=here), users=["x"])
    )
    running.effects.clear()
    running.run(after=0.05)
    assert len([each for each in running.effects if isinstance(each, Evict)]) == 1
