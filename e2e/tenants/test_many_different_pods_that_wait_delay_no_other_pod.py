"""Many pods of one tenant wait, no two alike, and each change of what runs may concern all of them.

A cycle looks at some of them, and the next ones at the others: other tenants' pods are placed meanwhile, none of the
many is forgotten, and the cycles come to an end. The same holds for PodGroups that are not admitted.
"""

from __future__ import annotations

import asyncio
from typing import Final

from e2e.conftest import Configure, NodePool, SimulatedNodes, StartDaemon
from e2e.harness.daemon import Daemon
from e2e.harness.objects import pod, pod_group
from e2e.harness.preemption import PREEMPTING
from e2e.harness.tenant import Tenant

_WAITING: Final = 150
_EDITS: Final = 20


async def _cycles(daemon: Daemon) -> float:
    return await daemon.metric("volcano_e2e_scheduling_latency_milliseconds_count")


async def _runs_a_large_pod(victim: Tenant, pool: NodePool) -> str:
    """The path of a pod that leaves little of the node."""
    await victim.apply(pod("large", cpu="3500m", node_selector=pool.selector))
    await victim.namespace.wait_phases(Running=1)
    return f"/api/v1/namespaces/{victim.name}/pods/large"


async def _changes_it_and_gets_others_bound(victim: Tenant, pool: NodePool, large: str) -> None:
    for number in range(_EDITS):
        await victim.client.merge_patch(large, {"metadata": {"labels": {"edit": str(number)}}})
        await victim.apply(pod(f"small-{number}", cpu="1m", memory="1Mi", node_selector=pool.selector))
    await victim.namespace.wait_phases(Running=1 + _EDITS)


async def _cycles_end(daemon: Daemon) -> None:
    async def at_rest() -> None:
        before = await _cycles(daemon)
        await asyncio.sleep(1.5)
        assert await _cycles(daemon) == before

    await daemon.eventually("cycles come to an end", at_rest)


async def test_many_different_pods_that_wait_delay_no_other_pod(
    configure: Configure,
    start_daemon: StartDaemon,
    attacker: Tenant,
    victim: Tenant,
    simulated_nodes: SimulatedNodes,
) -> None:
    await configure(PREEMPTING)
    daemon = await start_daemon()
    pool = await simulated_nodes(1, cpu="4")
    large = await _runs_a_large_pod(victim, pool)
    many = [
        pod(f"many-{number:03}", cpu=f"{1000 + number}m", node_selector=pool.selector) for number in range(_WAITING)
    ]
    await attacker.apply(*many)

    async def all_say(what: str) -> None:
        reported = [each.condition("PodScheduled").get("message", "") for each in await attacker.namespace.pods()]
        assert sum(what in text for text in reported) == _WAITING, reported[:3]

    # A cycle explains 64 of them at most.
    await daemon.eventually("each has the whole reason why it waits", lambda: all_say("Preempt finds nothing to evict"))
    await _changes_it_and_gets_others_bound(victim, pool, large)
    await _cycles_end(daemon)
    await all_say("Preempt finds nothing to evict")
    await victim.client.delete(large)
    await attacker.namespace.wait_phases(Running=3, Pending=_WAITING - 3)


async def test_many_different_podgroups_that_are_not_admitted_delay_no_other_pod(
    start_daemon: StartDaemon, attacker: Tenant, victim: Tenant, simulated_nodes: SimulatedNodes
) -> None:
    """With the shipped configuration. Their reasons follow what others use; one is admitted as soon as there is room
    for it."""
    daemon = await start_daemon()
    pool = await simulated_nodes(1, cpu="4")
    large = await _runs_a_large_pod(victim, pool)
    await attacker.apply(
        *(pod_group(f"many-{number:03}", 1, minResources={"cpu": f"{6000 + number}m"}) for number in range(_WAITING)),
        pod_group("waits", 1, minResources={"cpu": "3"}),
    )

    async def all_say(what: str) -> None:
        groups = await attacker.namespace.pod_groups()
        assert sum(what in str(each) for each in groups) == _WAITING + 1, [str(each) for each in groups[:3]]

    await daemon.eventually("each has the reason why it waits", lambda: all_say("3.5 cpu used"))
    await _changes_it_and_gets_others_bound(victim, pool, large)
    await daemon.eventually("each has the reason as it is now", lambda: all_say("3.52 cpu used"))
    await _cycles_end(daemon)
    await victim.client.delete(large)
    await attacker.namespace.wait_pod_group("waits", "Inqueue")
    others = [each for each in await attacker.namespace.pod_groups() if each.name != "waits"]
    assert [each.phase for each in others] == ["Pending"] * _WAITING
