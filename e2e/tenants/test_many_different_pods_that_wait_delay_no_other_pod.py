"""Many pods of one tenant wait, no two alike, and each change of what runs may let others be evicted for them.

A cycle looks at some of them, and the next ones at the others: other tenants' pods are placed meanwhile, none of the
many is forgotten, and the cycles come to an end.
"""

from __future__ import annotations

import asyncio
from typing import Final

from e2e.conftest import Configure, SimulatedNodes, StartDaemon
from e2e.harness.daemon import Daemon
from e2e.harness.objects import pod
from e2e.harness.preemption import PREEMPTING
from e2e.harness.tenant import Tenant

_WAITING: Final = 150
_EDITS: Final = 20


async def _cycles(daemon: Daemon) -> float:
    return await daemon.metric("volcano_e2e_scheduling_latency_milliseconds_count")


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
    await victim.apply(pod("large", cpu="3500m", node_selector=pool.selector))
    await victim.namespace.wait_phases(Running=1)
    many = [
        pod(f"many-{number:03}", cpu=f"{1000 + number}m", node_selector=pool.selector) for number in range(_WAITING)
    ]
    await attacker.apply(*many)

    async def all_say(what: str) -> None:
        reported = [each.condition("PodScheduled").get("message", "") for each in await attacker.namespace.pods()]
        assert sum(what in text for text in reported) == _WAITING, reported[:3]

    await daemon.eventually("each has the reason why it waits", lambda: all_say("Insufficient cpu"))

    path = f"/api/v1/namespaces/{victim.name}/pods/large"
    for number in range(_EDITS):
        await victim.client.merge_patch(path, {"metadata": {"labels": {"edit": str(number)}}})
        await victim.apply(pod(f"small-{number}", cpu="1m", memory="1Mi", node_selector=pool.selector))
    await victim.namespace.wait_phases(Running=1 + _EDITS)

    # The first cycle has explained 64 of them.
    await daemon.eventually(
        "each says why nothing is evicted for it", lambda: all_say("Preempt finds nothing to evict")
    )

    async def at_rest() -> None:
        before = await _cycles(daemon)
        await asyncio.sleep(1.5)
        assert await _cycles(daemon) == before

    await daemon.eventually("cycles come to an end", at_rest)
    await victim.client.delete(path)
    await attacker.namespace.wait_phases(Running=3, Pending=_WAITING - 3)
