"""Statuses that the API server does not take are written once it does, although nothing happens any more."""

from __future__ import annotations

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.injection.plans import Always, Call, Calm, Fault
from e2e.faults.injection.proxy import FaultProxy
from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang


def writes_status(call: Call) -> bool:
    return call.verb == "patch" and call.resource in ("pods/status", "podgroups", "podgroups/status")


QUIET_SECONDS = 3.0
"""After which nothing comes any more that would make the daemon look again."""


async def test_statuses_that_were_given_up(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """Users look at a gang's phase, and autoscalers at the messages of its pods."""
    pool = await simulated_nodes(1, cpu="4")
    # To be refused with 410 once is reason enough to give a patch up.
    proxy.plan = Always(writes_status, Fault.GONE)
    daemon = await start_daemon(server=proxy.url)
    await namespace.apply(gang("runs", 2, node_selector=pool.selector))
    await namespace.apply(gang("waits", 1, cpu="8", node_selector=pool.selector))
    await namespace.wait_phases(Running=2, Pending=1)

    async def given_up() -> None:
        about = {each["object"] for each in daemon.log_records() if each.get("msg") == "status not written"}
        expected = {f"PodGroup {namespace.name}/runs", f"Pod {namespace.name}/waits-0"}
        assert about >= expected, about

    await cluster.eventually("the daemon has given up", given_up)
    await proxy.until_quiet(QUIET_SECONDS)
    proxy.plan = Calm()

    await namespace.wait_pod_group("runs", "Running")
    await namespace.wait_reported("waits-0", reason="Unschedulable")
