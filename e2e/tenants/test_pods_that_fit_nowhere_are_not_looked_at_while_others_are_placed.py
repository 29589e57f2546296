"""A tenant fills the queue with pods that fit nowhere, each of a class of its own, and edits one of them all the time.

No other tenant's pod waits for their evaluation.
"""

from __future__ import annotations

from typing import Final

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.objects import pod
from e2e.harness.tenant import Tenant

_MISFITS: Final = 80
_EDITS: Final = 40


async def _looks(daemon: Daemon) -> float:
    """How often all nodes were looked at for a class of pods."""
    return await daemon.metric("volcano_scheduling_stage_duration_seconds_count", stage="Predicate")


async def test_pods_that_fit_nowhere_are_not_looked_at_while_others_are_placed(
    daemon: Daemon, attacker: Tenant, victim: Tenant, simulated_nodes: SimulatedNodes
) -> None:
    pool = await simulated_nodes(2)
    misfits = [
        pod(f"misfit-{number}", cpu="1m", memory="1Mi", node_selector={"nowhere": str(number)})
        for number in range(_MISFITS)
    ]
    await attacker.apply(*misfits)

    async def all_reported() -> None:
        reported = [each.condition("PodScheduled").get("message", "") for each in await attacker.namespace.pods()]
        assert sum(text.startswith("NodesRefuse: ") for text in reported) == _MISFITS, reported[:3]

    await daemon.eventually("all misfits have the reason why they wait", all_reported)
    before = await _looks(daemon)
    path = f"/api/v1/namespaces/{attacker.name}/pods/misfit-0"
    for number in range(_EDITS):
        await attacker.client.merge_patch(path, {"metadata": {"labels": {"edit": str(number)}}})
        if number % 10 == 0:
            await victim.apply(pod(f"mine-{number}", cpu="1m", memory="1Mi", node_selector=pool.selector))
    await victim.namespace.wait_phases(Running=_EDITS // 10)
    # A cycle that looked at the misfits would have looked once for each of them.
    assert await _looks(daemon) - before < _MISFITS / 2
    await attacker.namespace.wait_reported("misfit-0", saying="nowhere=0")
