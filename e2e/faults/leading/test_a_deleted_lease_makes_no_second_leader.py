"""The Lease of a working leader is deleted: no other replica binds before the leader has stopped for certain."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from e2e.conftest import NodePool, SimulatedNodes, StartDaemon
from e2e.faults.churning.keeper import in_background
from e2e.faults.injection.plans import Always, Calm, Fault, Gate, is_binding
from e2e.faults.injection.proxy import FaultProxy
from e2e.faults.invariants.cluster import bound_twice
from e2e.faults.invariants.journal import Journal
from e2e.faults.invariants.witness import Witness
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import QUICK_ELECTION, Daemon
from e2e.harness.install import LEASE_PATH
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod
from volcano_py.local.controlplane import ControlPlane

DELETIONS = 4
NODES, CPUS = 3, 4
FULL = NODES * CPUS
SILENT_SECONDS = 60.0
RENEW_DEADLINE = 5.0
"""Of `QUICK_ELECTION`, in seconds: a leader that cannot renew stops that long after its last renewal."""


async def keep_pods_coming(namespace: Namespace, pool: NodePool) -> None:
    """Some fit, the others wait for them to be deleted: there is always something to decide, and no room to spare."""
    for number in itertools.count():
        await namespace.apply(pod(f"busy-{number}", node_selector=pool.selector))
        if number >= FULL:
            await namespace.delete_pod(f"busy-{number - FULL}")
        await asyncio.sleep(0.05)


async def two_replicas(
    start_proxy: Callable[[], Awaitable[FaultProxy]], start_daemon: StartDaemon, journal: Journal
) -> tuple[Daemon, FaultProxy, Daemon]:
    """The leader, its proxy, and the standby."""
    daemons, proxies = [], []
    for replica in ("first", "second"):
        proxy = await start_proxy()
        journal.listen(replica, proxy)
        daemons.append(await start_daemon(*QUICK_ELECTION, server=proxy.url))
        proxies.append(proxy)
        if replica == "first":
            await daemons[0].wait_leading()
    return daemons[0], proxies[0], daemons[1]


async def leader_is_at_work(cluster: Cluster, journal: Journal) -> None:
    async def busy() -> None:
        assert len(journal.bindings) > FULL

    await cluster.eventually("the leader is at work", busy)


async def second_binds(cluster: Cluster, journal: Journal) -> None:
    async def takes_over() -> None:
        assert journal.bindings[-1][1] == "second", journal.bindings[-1]

    await cluster.eventually("the second replica binds", takes_over)


async def test_a_leader_that_notices_goes_on(
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    start_proxy: Callable[[], Awaitable[FaultProxy]],
    start_daemon: StartDaemon,
) -> None:
    """It makes the Lease again; the standby has seen it, and leaves it the time for that."""
    pool = await simulated_nodes(NODES, cpu=str(CPUS))
    journal, witness = Journal(), Witness(cluster)
    leader, _, standby = await two_replicas(start_proxy, start_daemon, journal)
    async with AsyncExitStack() as stack:
        await in_background(stack, witness.run())
        await in_background(stack, keep_pods_coming(namespace, pool))
        for _ in range(DELETIONS):
            before = (await cluster.client.get(LEASE_PATH))["metadata"]["uid"]
            await cluster.delete(LEASE_PATH)

            async def made_again(before: str = before) -> None:
                assert (await cluster.client.get(LEASE_PATH))["metadata"]["uid"] != before

            await cluster.eventually("the Lease is there again", made_again)

    assert journal.bindings
    assert journal.changes == 0
    assert await leader.metric("volcano_leader") == 1
    assert await standby.metric("volcano_leader") == 0
    assert not witness.seen
    assert not bound_twice(control_plane.audit_log)


async def test_a_leader_that_cannot_notice_has_stopped_before_another_begins(
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    start_proxy: Callable[[], Awaitable[FaultProxy]],
    start_daemon: StartDaemon,
) -> None:
    """Its requests for the Lease hang, and nothing else does: it binds as long as it believes that it leads."""
    pool = await simulated_nodes(NODES, cpu=str(CPUS))
    journal, witness = Journal(), Witness(cluster)
    leader, proxy, standby = await two_replicas(start_proxy, start_daemon, journal)
    async with AsyncExitStack() as stack:
        await in_background(stack, witness.run())
        await in_background(stack, keep_pods_coming(namespace, pool))
        await leader_is_at_work(cluster, journal)
        proxy.plan = Always(lambda call: call.group == "leases", Fault.SILENT, SILENT_SECONDS)
        await cluster.delete(LEASE_PATH)
        await standby.wait_leading()
        await second_binds(cluster, journal)
        proxy.plan = Calm()

    assert leader.process.exit_code != 0
    assert journal.changes == 1
    assert not journal.usurped()
    assert not witness.seen
    assert not bound_twice(control_plane.audit_log)


async def test_a_replica_that_finds_no_lease_but_bound_pods_waits(
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    start_proxy: Callable[[], Awaitable[FaultProxy]],
    start_daemon: StartDaemon,
) -> None:
    """The successor has never seen the Lease. Bound pods show that there was a leader, which may be at work still."""
    pool = await simulated_nodes(NODES, cpu=str(CPUS))
    journal, witness = Journal(), Witness(cluster)
    first, second = await start_proxy(), await start_proxy()
    journal.listen("first", first)
    journal.listen("second", second)
    leader = await start_daemon(*QUICK_ELECTION, server=first.url)
    await leader.wait_leading()
    attempts: list[float] = []
    second.listeners.append(lambda call, _status, _body, sent: attempts.append(sent) if is_binding(call) else None)
    gate = second.plan = Gate(lambda call: call.group == "leases")
    successor = await start_daemon(*QUICK_ELECTION, server=second.url)
    async with AsyncExitStack() as stack:
        await in_background(stack, witness.run())
        await in_background(stack, keep_pods_coming(namespace, pool))
        await leader_is_at_work(cluster, journal)
        first.plan = Always(lambda call: call.group == "leases", Fault.SILENT, SILENT_SECONDS)
        await cluster.delete(LEASE_PATH)
        gate.open()
        await successor.wait_leading()
        await second_binds(cluster, journal)
        first.plan = Calm()

    of_first = [sent for sent, replica, _ in journal.bindings if replica == "first"]
    assert max(of_first) < min(attempts), "one after the other"
    taken = next(moment for moment, replica in journal.leaders if replica == "second")
    assert min(attempts) - taken >= RENEW_DEADLINE, "until then the first one might have bound"
    assert not witness.seen
    assert not bound_twice(control_plane.audit_log)
