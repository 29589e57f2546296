"""The plugin reservation on a real API server: what is held stays held when the daemon is replaced."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.daemon import QUICK_ELECTION
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang

CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: reservation, arguments: {after: 1s, maxIdle: 100%}}]
- plugins: [{name: drf}, {name: predicates}, {name: nodeorder}]
"""


async def test_what_becomes_free_is_kept_for_the_large_job_over_a_restart(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    configure: Callable[[str], Awaitable[None]],
    start_daemon: StartDaemon,
) -> None:
    await configure(CONFIGURATION)
    daemon = await start_daemon(*QUICK_ELECTION)
    pool = await simulated_nodes(2, cpu="4")
    await namespace.apply(gang("busy", 2, minimum=1, cpu="4", node_selector=pool.selector))
    await namespace.wait_phases(Running=2)
    await namespace.apply(gang("large", 2, cpu="4", node_selector=pool.selector))

    async def held() -> None:
        group = await namespace.pod_group("large")
        assert "PlaceHeld=True Held: 2 nodes held" in str(group)

    await namespace.cluster.eventually("nodes are held for the large job", held)
    await namespace.delete_pod("busy-0")
    await namespace.apply(gang("small", 1, cpu="1", node_selector=pool.selector))
    await namespace.wait_reported("small-0", saying=f"held for {namespace.name}/large")

    await daemon.kill()
    successor = await start_daemon(*QUICK_ELECTION)
    await successor.wait_leading()
    await namespace.apply(gang("late", 1, cpu="1", node_selector=pool.selector))
    await namespace.wait_reported("late-0", saying=f"held for {namespace.name}/large")
    await namespace.delete_pod("busy-1")

    running = await namespace.wait_phases(Running=2, Pending=2)
    assert {each.name for each in running if each.phase == "Running"} == {"large-0", "large-1"}
