"""A standby whose watch lags behind takes over."""

from __future__ import annotations

from typing import Any

import orjson

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.plans import Call, Calm, Fault, Injection
from e2e.faults.proxy import FaultProxy
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod

QUICK_ELECTION = (
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
)


class Lagging(Calm):
    """Every event of a pod comes ten seconds late, longer than it takes to take over and decide."""

    async def for_event(self, call: Call) -> Injection | None:
        return Injection(Fault.DELAYED, 10.0) if call.resource == "pods" else None


async def seen(daemon: Daemon, namespace: Namespace) -> dict[str, Any]:
    """The namespace's pods as the daemon has them."""
    _, text = await daemon.get("/dump")
    return {key: task for key, task in orjson.loads(text)["tasks"].items() if key.startswith(f"{namespace.name}/")}


async def test_it_does_not_decide_on_an_old_picture(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """`first` may go to both nodes, `second` to the small one only. The old leader gave the small one to `first`.

    Who does not know that would put `first` on the large node, in vain, and `second` on top of it on the small one.
    """
    any_node, small_node = {"e2e.volcano-py/for": namespace.name}, {"e2e.volcano-py/small": namespace.name}
    small = (await simulated_nodes(1, cpu="1", labels={**any_node, **small_node})).names[0]
    large = (await simulated_nodes(1, cpu="8", labels=any_node)).names[0]
    await _cordon(cluster, True, small, large)
    leader = await start_daemon(*QUICK_ELECTION)
    standby = await start_daemon(*QUICK_ELECTION, server=proxy.url)
    await namespace.apply(
        pod("first", node_selector=any_node, priority_class="system-cluster-critical"),
        pod("second", node_selector=small_node),
    )

    async def told() -> None:
        for daemon in (leader, standby):
            pods = await seen(daemon, namespace)
            assert len(pods) == 2, pods
            assert all(each["told"] for each in pods.values()), pods

    await cluster.eventually("both know that both pods wait", told)
    proxy.plan = Lagging()
    await _cordon(cluster, False, small)
    await namespace.wait_phases(Running=1, Pending=1)
    await _cordon(cluster, False, large)

    await leader.stop()

    async def leads() -> None:
        assert await standby.metric("volcano_leader") == 1

    await cluster.eventually("the standby leads", leads)

    async def one_waits() -> None:
        first, second = await namespace.pods()
        assert (first.node, second.node) == (small, "")

    await cluster.throughout("the second pod waits", one_waits, seconds=5)
    assert (await seen(standby, namespace))[f"{namespace.name}/first"]["node"] == small


async def _cordon(cluster: Cluster, cordoned: bool, *nodes: str) -> None:
    for name in nodes:
        await cluster.client.merge_patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": cordoned or None}})
