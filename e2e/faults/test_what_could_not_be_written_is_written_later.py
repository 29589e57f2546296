"""Statuses that the API server does not take are written once it does, although nothing happens any more."""

from __future__ import annotations

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.plans import Always, Call, Calm, Fault
from e2e.faults.proxy import FaultProxy
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang


def writes_status(call: Call) -> bool:
    return call.verb == "patch" and call.resource in ("pods/status", "podgroups", "podgroups/status")


# To be refused with 410 once is reason enough to give a patch up.
REFUSING = Always(writes_status, Fault.GONE)

QUIET_SECONDS = 3.0
"""After which nothing comes any more that would make the daemon look again."""


async def given_up(daemon: Daemon, *objects: str) -> None:
    about = {record.get("object") for record in daemon.log_records() if record.get("msg") == "a status was not written"}
    assert about >= set(objects), about


async def test_the_phase_of_a_pod_group(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """Whoever waits for the gang to run looks at its phase."""
    pool = await simulated_nodes(1)
    proxy.plan = REFUSING
    daemon = await start_daemon(server=proxy.url)
    await namespace.apply(gang("train", 2, node_selector=pool.selector))
    await namespace.wait_phases(Running=2)
    await cluster.eventually("given up", lambda: given_up(daemon, f"PodGroup {namespace.name}/train"))
    await proxy.until_quiet(QUIET_SECONDS)

    proxy.plan = Calm()

    await namespace.wait_pod_group("train", "Running", seconds=60)


async def test_the_reason_why_a_pod_waits(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """Without it no autoscaler would bring the node that the pod waits for."""
    pool = await simulated_nodes(1, cpu="1")
    proxy.plan = REFUSING
    daemon = await start_daemon(server=proxy.url)
    await namespace.apply(gang("train", 1, cpu="2", node_selector=pool.selector))
    about = f"PodGroup {namespace.name}/train", f"Pod {namespace.name}/train-0"
    await cluster.eventually("given up", lambda: given_up(daemon, *about))
    await proxy.until_quiet(QUIET_SECONDS)

    proxy.plan = Calm()

    async def told() -> None:
        (waiting,) = await namespace.pods()
        assert waiting.condition("PodScheduled").get("reason") == "Unschedulable", str(waiting)

    await cluster.eventually("the pod is told why it waits", told, seconds=60)
