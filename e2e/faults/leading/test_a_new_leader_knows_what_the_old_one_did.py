"""A standby whose watch lags behind takes over."""

from __future__ import annotations

from typing import Any

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.injection.plans import Call, Calm, Fault, Injection
from e2e.faults.injection.proxy import FaultProxy
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import QUICK_ELECTION, Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod

LATE_SECONDS = 60.0


class Lagging(Calm):
    """Every event of a pod comes so late, longer than it takes to take over and decide."""

    async def for_event(self, call: Call) -> Injection | None:
        return Injection(Fault.DELAYED, LATE_SECONDS) if call.resource == "pods" else None


async def seen(daemon: Daemon, namespace: Namespace) -> dict[str, Any]:
    """The namespace's pods as the daemon has them."""
    tasks = (await daemon.document("/dump"))["tasks"]
    return {key: task for key, task in tasks.items() if key.startswith(f"{namespace.name}/")}


async def test_it_does_not_decide_on_an_old_picture(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """`first` may go to both nodes, `second` to the small one only. The old leader gave the small one to `first`.

    A leader that does not know that would put `first` on the large node, without effect, and `second` on top of it on
    the small one. `third` waits for a node that comes after that would have been decided.
    """
    any_node, small_node = {"e2e.volcano-py/for": namespace.name}, {"e2e.volcano-py/small": namespace.name}
    last_node = {"e2e.volcano-py/last": namespace.name}
    small = (await simulated_nodes(1, cpu="1", labels={**any_node, **small_node})).names[0]
    large = (await simulated_nodes(1, cpu="8", labels=any_node)).names[0]
    await _cordon(cluster, True, small, large)
    leader = await start_daemon(*QUICK_ELECTION)
    await leader.wait_leading()
    standby = await start_daemon(*QUICK_ELECTION, server=proxy.url)
    await namespace.apply(
        pod("first", node_selector=any_node, priority_class="system-cluster-critical"),
        pod("second", node_selector=small_node),
        pod("third", node_selector=last_node),
    )

    async def reported() -> None:
        for daemon in (leader, standby):
            pods = await seen(daemon, namespace)
            assert len(pods) == 3, pods
            assert all(each["reported"] for each in pods.values()), pods

    await cluster.eventually("both know that all pods wait", reported)
    proxy.plan = Lagging()
    await _cordon(cluster, False, small)
    await namespace.wait_phases(Running=1, Pending=2)
    await _cordon(cluster, False, large)

    await leader.stop()
    await standby.wait_leading()

    async def knows() -> None:
        assert (await seen(standby, namespace))[f"{namespace.name}/first"]["node"] == small

    await standby.eventually("the standby knows where the first pod is", knows)
    last = (await simulated_nodes(1, labels=last_node)).names[0]
    await namespace.wait_phases(Running=2, Pending=1)
    assert [each.node for each in await namespace.pods()] == [small, "", last]


async def _cordon(cluster: Cluster, cordoned: bool, *nodes: str) -> None:
    for name in nodes:
        await cluster.client.merge_patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": cordoned or None}})
