"""Cycles run when something has changed: whatever happened before, a cycle without a reason must find nothing to do.

Else a wake-up was lost: a pod waits for available room until another event comes, by chance.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import Final
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.explaining.answering_cluster import AnsweringCluster
from tests.property.histories import History
from tests.unit.daemon.cycling import REGISTRY
from volcano_py.api.effects import Bind, Effect, Evict, PodCondition, PodGroupStatusUpdate
from volcano_py.api.objects import PodGroup, PodGroupStatus
from volcano_py.config import SchedulerConfiguration, default_configuration_text, parse_configuration
from volcano_py.framework.resting import looks

PROPORTIONAL: Final = """{name: predicates, arguments: {
  predicate.ProportionalEnable: true, predicate.resources: nvidia.com/gpu,
  predicate.resources.nvidia.com/gpu.cpu: 2, predicate.resources.nvidia.com/gpu.memory: 0}}"""
CONFIGURATIONS: Final = {
    "default": default_configuration_text(),
    "overcommit and proportion": """
actions: "enqueue, reclaim, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enableReclaimable: false}, {name: conformance}]
- plugins: [{name: overcommit, arguments: {overcommit-factor: 1.0}}, {name: predicates}, {name: proportion}]
""",
    "waiting times": """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: sla, arguments: {sla-waiting-time: 1m}}]
- plugins: [{name: overcommit, arguments: {overcommit-factor: 1.0}}, {name: predicates}, {name: proportion}]
""",
    "a tree of capacities": """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false, enableReclaimable: false}, {name: conformance}]
- plugins: [{name: drf, enablePreemptable: false}, {name: predicates}, {name: capacity, enableHierarchy: true}]
""",
    "cooldown and budgets": """
actions: "enqueue, reclaim, preempt, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false, enableReclaimable: false}, {name: cdp}]
- plugins: [{name: predicates}, {name: capacity}, {name: pdb}, {name: resource-strategy-fit}]
""",
    "hierarchical fair share": f"""
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang, enableReclaimable: false}}]
- plugins: [{{name: drf, enableHierarchy: true}}, {PROPORTIONAL}]
""",
    "fair namespaces": f"""
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang, enablePreemptable: false}}]
- plugins:
  - {{name: drf, enableNamespaceOrder: true, enablePreemptable: false}}
  - name: proportion
  - {PROPORTIONAL}
  - name: nodegroup
  - name: resourcequota
""",
    "no enqueue": f"""
actions: "allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang, enablePreemptable: false}}]
- plugins: [{{name: capacity}}, {PROPORTIONAL}, {{name: usage}}, {{name: task-topology}}, {{name: binpack}}]
""",
}
# Each example is a whole history, the same in every run; the profile `deep` makes many of them.
FEW = settings(max_examples=max(3, settings().max_examples // 10), derandomize=True)


def parsed(text: str) -> SchedulerConfiguration:
    configuration = parse_configuration(text, REGISTRY.catalogue()).config
    assert configuration is not None
    return configuration


def moved(cluster: AnsweringCluster, sent: list[Effect]) -> list[Effect]:
    """Bindings, evictions, promises and statuses; not what is merely said otherwise."""
    return [effect for effect in sent if isinstance(effect, Bind | Evict) or _moves_status(cluster, effect)]


def _moves_status(cluster: AnsweringCluster, effect: Effect) -> bool:
    if isinstance(effect, PodCondition):
        return bool(effect.nominated_node)
    if not isinstance(effect, PodGroupStatusUpdate):
        return False
    group = cluster.find(PodGroup, effect.group.key)
    assert group is not None
    return _status(group.status) != _status(effect)


def _status(reported: PodGroupStatus | PodGroupStatusUpdate) -> tuple[object, ...]:
    return (
        reported.phase,
        reported.running,
        reported.succeeded,
        reported.failed,
        {each.type for each in reported.conditions},
    )


async def live(rng: Random, cluster: AnsweringCluster, *, looks_at_all: bool = False) -> None:
    """`looks_at_all`: the cycles that nothing has asked for look at all jobs, also at those that rest."""
    history = History(rng, cluster)
    running = asyncio.create_task(cluster.loop.run())
    history.begin()
    for _ in range(rng.randint(1, 5)):
        for _ in range(rng.randint(1, 8)):
            await history.go_on()
            await cluster.a_moment()
        await cluster.come_to_rest()
        if rng.random() < 0.5:
            # Deadlines pass, too.
            await cluster.after(rng.choice([70.0, 400.0]))
            await cluster.come_to_rest()
        if looks_at_all:
            await cluster.one_more_cycle()  # until then reasons may be late: no cycle is due for them alone
            await cluster.come_to_rest()
            reasons = _reasons(cluster)
            cluster.loop._scheduler._resting.forget()
        found = moved(cluster, await cluster.one_more_cycle())
        assert not found, f"{found}\nafter\n" + "\n".join(history.reported)
        if looks_at_all:
            assert _reasons(cluster) == reasons, "\n".join(history.reported)
    cluster.loop.stop()
    await cluster.clock.advance(2)
    await running


def _reasons(cluster: AnsweringCluster) -> list[tuple[str, str]]:
    return [(job.name, job.message) for job in cluster.reports[-1].pending]


@pytest.mark.parametrize("name", CONFIGURATIONS)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_at_rest_another_cycle_changes_nothing(name: str, rng: Random) -> None:
    asyncio.run(live(rng, AnsweringCluster(rng, parsed(CONFIGURATIONS[name]))))


@pytest.mark.parametrize("name", CONFIGURATIONS)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_at_rest_another_cycle_changes_nothing_where_each_looks_at_few_jobs_again(name: str, rng: Random) -> None:
    with patch.multiple(looks, MOST=1.0, PER_PLACE=0.0, MOST_ON_NEW_GROUND=1.0):
        asyncio.run(live(rng, AnsweringCluster(rng, parsed(CONFIGURATIONS[name])), looks_at_all=True))
