"""Every answer is compressed, which no one asked for: some proxies do that to whatever passes through them."""

from __future__ import annotations

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.injection.plans import Call, Calm, Fault, Injection
from e2e.faults.injection.proxy import FaultProxy
from e2e.faults.invariants.afterwards import it_sees_what_there_is
from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, volcano_job


class Compressed(Calm):
    """Lists, watches, answers to writes."""

    async def for_call(self, call: Call) -> Injection | None:
        return Injection(Fault.COMPRESSED)


async def test_compressed_answers_are_read_as_others_are(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """Events are taken in as they come, and nothing has to be asked for twice."""
    pool = await simulated_nodes(1, cpu="8")
    proxy.plan = Compressed()
    daemon = await start_daemon(server=proxy.url)
    await namespace.apply(
        gang("train", 3, node_selector=pool.selector), volcano_job("runs", 2, node_selector=pool.selector)
    )
    await namespace.apply(gang("waits", 1, cpu="9", node_selector=pool.selector))

    await namespace.wait_phases(Running=5, Pending=1)
    await namespace.wait_pod_group("train", "Running")
    await namespace.wait_reported("waits-0", reason="Unschedulable")
    await namespace.delete_pod("runs-worker-1")
    await namespace.wait_phases(Running=5, Pending=1)

    await it_sees_what_there_is(cluster, daemon)
    for group in ("watches", "reads", "bindings", "other writes", "leases"):
        assert proxy.injected[group, Fault.COMPRESSED] > 0, group
    records = daemon.log_records()
    # Warnings there may be: a server that was just started refuses some requests for a moment. And what another test
    # has spoilt may still be going.
    errors = [each for each in records if each.get("level") == "error" and "object unreadable" not in each["msg"]]
    defects = [each for each in records if each.get("exception")]
    assert not errors + defects
