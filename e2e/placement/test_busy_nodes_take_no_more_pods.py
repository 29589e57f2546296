"""Real load from a Prometheus: the daemon asks it, and pods go where there is less of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang
from e2e.placement.prometheus import Prometheus

USAGE = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: usage}]
metrics:
  type: prometheus
  address: ADDRESS
  interval: 1s
"""


async def test_a_busy_node_takes_pods_once_it_is_idle_again(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    prometheus: Prometheus,
    configure: Callable[[str], Awaitable[None]],
    daemon: Daemon,
) -> None:
    """Nothing else changes meanwhile: it is the load that wakes the scheduler."""
    pool = await simulated_nodes(2, cpu="4")
    busy, idle = pool.names
    prometheus.load = {busy: 0.95, idle: 0.05}
    await configure(USAGE.replace("ADDRESS", prometheus.address))

    async def read() -> None:
        load = (await daemon.document("/status"))["nodeLoad"]
        assert (load["source"], load["nodes"], load["stale"], load["problem"]) == ("prometheus", 2, False, ""), load

    await daemon.eventually("the load of both nodes has been read", read)
    await daemon.wait_metric("volcano_node_load_reads_total", 1, or_more=True, outcome="read")
    await namespace.apply(gang("train", 6, minimum=1, cpu="1", node_selector=pool.selector))
    pods = await namespace.wait_phases(Running=4, Pending=2)
    assert {each.node for each in pods if each.node} == {idle}
    for each in pods:
        if not each.node:
            await namespace.wait_reported(each.name, saying="had more than 80 % of their CPU in use")

    prometheus.load = {busy: 0.2, idle: 0.4}

    pods = await namespace.wait_phases(Running=6)
    assert {each.node for each in pods} == {busy, idle}
