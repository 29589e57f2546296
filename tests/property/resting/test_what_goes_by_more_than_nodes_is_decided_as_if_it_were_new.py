"""Jobs rest next to plugins that go by the time, loads or other jobs, and in a network, and are decided and reported as
if they did not."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.property.explaining.answering_cluster import AnsweringCluster
from tests.property.histories import NODES
from tests.property.resting.test_at_rest_another_cycle_changes_nothing import parsed
from tests.property.resting.test_what_rests_is_decided_and_reported_as_if_it_were_new import (
    FEW,
    InAFullCluster,
    live,
)
from tests.support.placement.hyper_nodes import hyper_node
from tests.unit.state.watched import with_meta, with_spec
from volcano_py.api.hyper_nodes import HyperNode
from volcano_py.api.names import REVOCABLE_ZONE, RUNNING_ESTIMATE
from volcano_py.api.objects import Node, Pod, PodGroup
from volcano_py.state.nodes.loads import Load

_ALLOCATE: Final = "enqueue, allocate, backfill"
_EVICT: Final = "enqueue, allocate, preempt, reclaim, backfill"
_TDM: Final = 'name: tdm, arguments: {tdm.revocable-zone.z0: "0:00-11:30", tdm.revocable-zone.z1: "12:10-13:00"}'
_LATE: Final = "name: sla, arguments: {sla-waiting-time: 3m}"
_HELD: Final = "name: reservation, arguments: {after: 2m, holdFor: 20m, maxIdle: 0.5}"
_MOVED: Final = (
    "name: rescheduling, arguments: {interval: 1m, strategies: [{name: lowNodeUtilization, "
    "params: {thresholds: {cpu: 50}, targetThresholds: {cpu: 60}}}]}"
)
_TOPOLOGY: Final = "name: network-topology-aware"
BY_THE_CLOCK: Final = {
    "zones": (_ALLOCATE, "", [_TDM]),
    "zones, with evictions": ("enqueue, allocate, preempt, backfill, shuffle", "", [_TDM, "name: drf"]),
    "loads": (_ALLOCATE, "", ["name: usage", "name: nodeorder"]),
    "loads, with evictions": (_EVICT, "", ["name: usage"]),
    "loads, with pods that are moved": ("enqueue, allocate, preempt, backfill, shuffle", "", ["name: usage", _MOVED]),
    "waiting times": (_ALLOCATE, _LATE, ["name: binpack"]),
    "waiting times, with evictions": (_EVICT, _LATE, []),
    "waiting times behind gangs, with evictions": (_EVICT, "", [_LATE]),
    "held places": (_ALLOCATE, "", [_HELD]),
    "held places, with evictions": (_EVICT, "", [_HELD]),
    "roles, with evictions": (_EVICT, "", ["name: task-topology", "name: nodeorder"]),
    "everything": (_EVICT, "", [_LATE, _TDM, "name: usage", _HELD, "name: task-topology"]),
}
"""Actions, a plugin in a tier before all others, and those next to predicates."""
IN_DOMAINS: Final = {
    "a network": (_ALLOCATE, "", [_TOPOLOGY]),
    "a network, with evictions": (_EVICT, "", [_TOPOLOGY, "name: nodeorder"]),
    "a network, with evictions of gangs": ("enqueue, allocate, gangpreempt, gangreclaim", "", [_TOPOLOGY]),
    "a network without a plugin": (_ALLOCATE, "", ["name: binpack"]),
    "a network by the clock": (_EVICT, "", [_TOPOLOGY, _LATE, _HELD, "name: usage"]),
}


def configured(actions: str, first: str, others: list[str]) -> Any:
    more = "".join(f", {{{each}}}" for each in others)
    before = f"- plugins: [{{{first}}}]" if first else ""
    return parsed(f"""
actions: "{actions}"
tiers:
{before}
- plugins: [{{name: priority}}, {{name: gang, enablePreemptable: false, enableReclaimable: false}}]
- plugins: [{{name: predicates}}, {{name: capacity}}{more}]
""")


class ByTheClock(InAFullCluster):
    """Hours pass, loads are measured, jobs declare how long they run, and may wait only so long."""

    def __init__(self, rng: Random, cluster: AnsweringCluster) -> None:
        super().__init__(rng, cluster)
        self._steps += [*[self.a_node_is_measured] * 3, *[self.a_group_says_more] * 3, *[self.a_long_time_passes] * 2]

    async def go_on(self) -> None:
        self._seconds = 0.0
        await super().go_on()
        while self._seconds > 0:
            await self._cluster.come_to_rest()  # (while pods are being bound, cycles follow each second)
            await self._cluster.after(min(self._seconds, 60.0))
            self._seconds -= 60.0

    def a_long_time_passes(self) -> str:
        self._seconds = self._rng.choice([60.0, 180.0, 400.0, 1800.0, 3600.0])
        return f"{self._seconds} s"

    def a_node_is_measured(self) -> str:
        rng, name = self._rng, self._rng.choice(NODES)
        load = Load(rng.choice([0.1, 0.5, 0.85, None]), rng.choice([0.2, 0.9]), self._cluster.now)
        self._cluster.state.measured({name: load})
        return f"{name} {load}"

    def a_group_says_more(self) -> str | None:
        one = self._any(PodGroup)
        if one is None:
            return None
        said: dict[str, str] = self._rng.choice(
            [
                {RUNNING_ESTIMATE: self._rng.choice(["1m", "10m", "2h"])},
                {"sla-waiting-time": self._rng.choice(["1m", "10m", "1h"])},
                {"volcano.sh/task-topology-affinity": self._rng.choice(["a", "a,b"])},
                {"volcano.sh/preemptable": "true"},
            ]
        )
        self._cluster.put(with_meta(one, annotations={**one.metadata.annotations, **said}))
        return f"{one.metadata.key} {said}"

    def _wishes(self) -> dict[str, Any]:
        wishes, rng = super()._wishes(), self._rng
        if rng.random() < 0.3:
            wishes["role"] = rng.choice(["a", "b"])
        if rng.random() < 0.3:
            wishes["annotations"] = {**wishes.get("annotations", {}), REVOCABLE_ZONE: "*"}
        return wishes

    def _equipped(self, one: Pod) -> Pod:
        if self._rng.random() < 0.7:
            return one
        limited: Pod = with_spec(one, active_deadline_seconds=self._rng.choice([60, 600, 7200]))
        return limited

    def _node(self, name: str) -> Node:
        made = super()._node(name)
        zone = self._rng.choice(["", "z0", "z1", "z2"]) if self._rng.random() < 0.5 else ""
        labels = {**made.metadata.labels, REVOCABLE_ZONE: zone} if zone else made.metadata.labels
        zoned: Node = with_meta(made, labels=labels)
        return zoned


class InDomains(ByTheClock):
    """Most gangs are limited to a domain of a network that changes, and some consist of sub-groups."""

    def __init__(self, rng: Random, cluster: AnsweringCluster) -> None:
        super().__init__(rng, cluster)
        self._steps += [*[self.the_network_changes] * 2, *[self.a_gang_is_limited] * 4]

    def begin(self) -> None:
        self.the_network_changes()
        super().begin()
        for _ in range(4):
            self.reported.append(f"there is {self.a_gang_is_limited()}")

    def the_network_changes(self) -> str:
        rng, racks = self._rng, {"ra": list[str](), "rb": list[str]()}
        for name in NODES:
            if rng.random() < 0.9:
                racks[rng.choice(["ra", "rb"])].append(name)
        for name, nodes in racks.items():
            self._change(hyper_node(name, 1, tier_name="rack", nodes=nodes))
        known = self._cluster.find(HyperNode, "s")
        if known is not None and rng.random() < 0.3:
            self._cluster.remove(known)
        else:
            self._change(hyper_node("s", 2, children=[*racks]))
        return str(racks)

    def a_gang_is_limited(self) -> str | None:
        waiting = [each for each in self._cluster.all(PodGroup) if each.spec.network_topology is None]
        if not waiting:
            return None
        rng, one = self._rng, self._rng.choice(waiting)
        limit: dict[str, Any] = rng.choice(
            [{"highestTierAllowed": 1}, {"highestTierAllowed": 2}, {"highestTierName": "rack"}]
        )
        topology = {"mode": rng.choice(["hard", "hard", "hard", "soft"]), **limit}
        policy = {"name": "p", "subGroupSize": rng.choice([1, 2]), "labelSelector": {}, "networkTopology": topology}
        policies = [policy] if rng.random() < 0.3 else []
        change = with_spec(one, network_topology=topology, sub_group_policy=policies, min_member=rng.randint(1, 3))
        self._cluster.put(change)
        return f"{one.metadata.key} {topology} {policies}"


@pytest.mark.parametrize("name", BY_THE_CLOCK)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_what_goes_by_the_clock_is_decided_and_reported_as_if_it_were_new(name: str, rng: Random) -> None:
    asyncio.run(live(rng, configured(*BY_THE_CLOCK[name]), ByTheClock))


@pytest.mark.parametrize("name", BY_THE_CLOCK)
def test_there_are_jobs_that_rest_for_room_in_such_histories(name: str) -> None:
    assert any(
        asyncio.run(live(Random(seed), configured(*BY_THE_CLOCK[name]), ByTheClock)).rested_for_room
        for seed in range(3)
    )


@pytest.mark.parametrize("name", IN_DOMAINS)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_what_waits_for_room_in_a_domain_is_decided_and_reported_as_if_it_were_new(name: str, rng: Random) -> None:
    asyncio.run(live(rng, configured(*IN_DOMAINS[name]), InDomains))


@pytest.mark.parametrize("name", IN_DOMAINS)
def test_there_are_jobs_that_rest_for_room_in_a_domain(name: str) -> None:
    assert any(
        asyncio.run(live(Random(seed), configured(*IN_DOMAINS[name]), InDomains)).rested_for_domains
        for seed in range(10)
    )
