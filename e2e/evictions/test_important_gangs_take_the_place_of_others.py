"""Preemption on a real API server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from e2e.conftest import SimulatedNodes
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, pod, pod_group
from e2e.harness.preemption import PREEMPTING, URGENT


async def test_a_gang_of_higher_priority_gets_the_nodes_of_one_of_lower_priority(
    namespace: Namespace,
    installed: Cluster,
    simulated_nodes: SimulatedNodes,
    daemon: Daemon,
    configure: Callable[[str], Awaitable[None]],
) -> None:
    """The victims go, the gang runs on their nodes, and events say for which gang and why."""
    await installed.apply([URGENT])
    await configure(PREEMPTING)
    pool = await simulated_nodes(2, cpu="2")
    await namespace.apply(gang("low", 2, cpu="2", node_selector=pool.selector))
    await namespace.wait_phases(Running=2)

    high = pod_group("high", 2, priority_class="e2e-urgent")
    high["metadata"]["annotations"] = {"volcano.sh/running-estimate": "2h"}
    await namespace.apply(
        high,
        *(
            pod(f"high-{n}", group="high", cpu="2", priority_class="e2e-urgent", node_selector=pool.selector)
            for n in (0, 1)
        ),
    )

    await namespace.wait_pod_group("high", "Running")
    await namespace.wait_phases(Running=2)

    async def nominated_nowhere_else() -> None:
        running = await namespace.pods()
        assert {each.name for each in running} == {"high-0", "high-1"}
        assert all(each.status.get("nominatedNodeName") in ("", None, each.node) for each in running), running

    await installed.eventually("no pod is nominated for a node that it is not on", nominated_nowhere_else)
    name = namespace.name
    reported = await namespace.wait_event(
        "Evict", "Pod/low-0", saying=f"preempt: {name}/low (priority 0) makes room for {name}/high-"
    )
    why, _, returns = reported.message.partition("; the room is free again when ")
    assert why.endswith("the whole gang is evicted, 2 pods (minimum 2); allowed by priority"), reported.message
    assert returns.removeprefix(f"{name}/high-")[1:] == " ends (declared run time: 2h)", reported.message
