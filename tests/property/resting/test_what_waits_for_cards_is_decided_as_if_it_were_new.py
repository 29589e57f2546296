"""Jobs that wait for parts of GPUs rest, and are decided and reported as if they did not."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.property.explaining.answering_cluster import AnsweringCluster
from tests.property.histories import APPS
from tests.property.resting.test_at_rest_another_cycle_changes_nothing import parsed
from tests.property.resting.test_what_rests_is_decided_and_reported_as_if_it_were_new import (
    FEW,
    InAFullCluster,
    live,
)
from tests.support.placement.cards import PLENTY, REGISTER, asks, card
from tests.unit.state.watched import with_meta, with_spec
from volcano_py.api.objects import Node, Pod

ACTIONS: Final = {
    "without evictions": "enqueue, allocate, backfill",
    "with evictions": "enqueue, allocate, preempt, reclaim, backfill",
}


class OfSharedCards(InAFullCluster):
    """Nodes have a card or two, which most pods want a part of."""

    def _node(self, name: str) -> Node:
        made, rng = super()._node(name), self._rng
        cards = [card(uuid, rng.choice([8, 16]), users=rng.randint(1, 4)) for uuid in "AB"[: rng.randint(0, 2)]]
        status = replace(made.status, allocatable={**made.status.allocatable, **PLENTY})
        registered: Node = with_meta(replace(made, status=status), annotations={REGISTER: "".join(cards)})
        return registered

    def _equipped(self, one: Pod) -> Pod:
        rng = self._rng
        if rng.random() < 0.2:
            return one
        first, *others = one.spec.containers
        more = asks(rng.choice([1, 1, 2]), rng.choice([0, 4, 8, 16]), rng.choice([0, 50, 100]))
        requests, limits = {**first.resources.requests, **more}, {**first.resources.limits, **more}
        resources = replace(first.resources, requests=requests, limits=limits)
        if rng.random() < 0.2:
            spread = {**one.metadata.annotations, "volcano.sh/vgpu-podgroup-policy": "spread"}
            one = with_meta(one, annotations=spread)
        sharing: Pod = with_spec(one, containers=[replace(first, resources=resources), *others])
        return sharing


class OfExclusiveRules(OfSharedCards):
    """Pods of an app share no card with each other; some change their app."""

    def __init__(self, rng: Random, cluster: AnsweringCluster) -> None:
        super().__init__(rng, cluster)
        self._steps += [self.a_pod_is_relabelled] * 3

    def _wishes(self) -> dict[str, Any]:
        wishes = super()._wishes()
        return {**wishes, "labels": {**wishes.get("labels", {}), "app": self._rng.choice(APPS)}}

    def a_pod_is_relabelled(self) -> str | None:
        one = self._any(Pod)
        if one is None:
            return None
        app = self._rng.choice([*APPS, "none"])
        self._cluster.put(with_meta(one, labels={**one.metadata.labels, "app": app}))
        return f"{one.metadata.key} app={app}"


class OfDividedGpus(OfSharedCards):
    """Some of the cards are divided into instances of 4 and 8, or of 16."""

    def _node(self, name: str) -> Node:
        made = super()._node(name)
        text = made.metadata.annotations[REGISTER].replace("16,NVIDIA-A100,true,hami-core", "16,NVIDIA-A100,true,mig")
        divided: Node = with_meta(made, annotations={REGISTER: text})
        return divided


class OfNumberedGpus(InAFullCluster):
    """Nodes have up to three GPUs by number, and most pods want a part of the memory of one."""

    def _node(self, name: str) -> Node:
        made, rng = super()._node(name), self._rng
        number = rng.randint(0, 3)
        offers = {"volcano.sh/gpu-number": str(number), "volcano.sh/gpu-memory": str(number * 16)}
        status = replace(made.status, allocatable={**made.status.allocatable, **offers})
        unhealthy = {"volcano.sh/gpu-unhealthy-ids": str(rng.randint(0, 3))}
        numbered: Node = with_meta(replace(made, status=status), annotations=unhealthy)
        return numbered

    def _equipped(self, one: Pod) -> Pod:
        rng = self._rng
        if rng.random() < 0.2:
            return one
        first, *others = one.spec.containers
        more = {"volcano.sh/gpu-memory": str(rng.choice([1, 5, 8, 11, 16]))}
        requests, limits = {**first.resources.requests, **more}, {**first.resources.limits, **more}
        resources = replace(first.resources, requests=requests, limits=limits)
        sharing: Pod = with_spec(one, containers=[replace(first, resources=resources), *others])
        return sharing


GEOMETRIES: Final = (
    "[{models: [A100], allowedGeometries: ["
    "{group: g1, geometries: [{name: a, memory: 8, count: 1}, {name: b, memory: 4, count: 2}]}, "
    "{group: g2, geometries: [{name: c, memory: 16, count: 1}]}]}]"
)
SHARING: Final = {
    OfSharedCards: "deviceshare.VGPUEnable: true, deviceshare.SchedulePolicy: binpack, deviceshare.ScheduleWeight: 10",
    OfExclusiveRules: "deviceshare.VGPUEnable: true, deviceshare.GPUExclusiveRules: [{app: a}, {app: b}]",
    OfDividedGpus: f"deviceshare.VGPUEnable: true, deviceshare.KnownMigGeometries: {GEOMETRIES}",
    OfNumberedGpus: "deviceshare.GPUSharingEnable: true",
}


def configured(actions: str, cluster: type[InAFullCluster]) -> Any:
    return parsed(f"""
actions: "{ACTIONS[actions]}"
tiers:
- plugins: [{{name: priority}}, {{name: gang, enablePreemptable: false, enableReclaimable: false}}]
- plugins:
  - {{name: predicates}}
  - {{name: capacity}}
  - name: deviceshare
    arguments: {{{SHARING[cluster]}}}
""")


@pytest.mark.parametrize("cluster", SHARING)
@pytest.mark.parametrize("actions", ACTIONS)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_what_waits_for_cards_is_decided_and_reported_as_if_it_were_new(
    actions: str, cluster: type[InAFullCluster], rng: Random
) -> None:
    asyncio.run(live(rng, configured(actions, cluster), cluster))


@pytest.mark.parametrize("cluster", SHARING)
@pytest.mark.parametrize("actions", ACTIONS)
def test_there_are_jobs_that_rest_for_cards(actions: str, cluster: type[InAFullCluster]) -> None:
    conf = configured(actions, cluster)
    assert any(asyncio.run(live(Random(seed), conf, cluster)).rested_for_room for seed in range(5))
