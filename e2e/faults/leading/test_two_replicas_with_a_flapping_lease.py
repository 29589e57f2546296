"""Two replicas, each cut off from its Lease again and again: one decides at a time, and no work is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.churning.churn import NODE_CPUS, Churn
from e2e.faults.churning.keeper import LEASE_LOST, Keeper, in_background
from e2e.faults.conftest import Scale
from e2e.faults.injection.plans import Calm, Flapping
from e2e.faults.injection.proxy import FaultProxy
from e2e.faults.invariants.cluster import (
    Picture,
    bound_twice,
    broken_gangs,
    differences,
    overcommitted_nodes,
    waiting_pods,
)
from e2e.faults.invariants.journal import Journal
from e2e.faults.invariants.witness import Witness
from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.objects import queue
from volcano_py.local.controlplane import ControlPlane

# A leader stops binding 3 s after its last renewal, and another may follow after 6 s. That leaves some time to a
# binding that was sent before: on a busy machine it may wait until the proxy looks at it.
FLAGS = (
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=1s",
)
NODES = 4
LEAST_CHANGES = 4
"""Of leadership, before the Lease is left in peace."""
CHANGES_SECONDS = 450.0
"""For so many changes; measured: 35 s."""
SETTLE_SECONDS = 240.0
"""Back-off of failed bindings up to 60 s, and nodes' pods that a user has to delete and create again."""


@pytest.mark.timeout(1200)
async def test_two_replicas_never_decide_at_once(
    scale: Scale,
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    start_proxy: Callable[[], Awaitable[FaultProxy]],
    start_daemon: StartDaemon,
) -> None:
    """Faults hit their Lease only, so that both could bind at any time if they wanted to."""
    pool = await simulated_nodes(NODES, cpu=str(NODE_CPUS))
    queues = (f"{namespace.name}-red", f"{namespace.name}-blue")
    await create_queues(*map(queue, queues))
    journal, keepers = Journal(), []
    churn, witness = Churn(namespace, pool, queues, scale.seed), Witness(cluster)
    async with AsyncExitStack() as stack:
        proxies = []
        for number, replica in enumerate(("first", "second")):
            proxy = await start_proxy()
            journal.listen(replica, proxy)
            proxy.plan = Flapping(scale.seed + number)
            daemon = await start_daemon(*FLAGS, server=proxy.url)
            keepers.append(await stack.enter_async_context(Keeper(daemon)))
            proxies.append(proxy)
        await in_background(stack, witness.run())
        churning = await in_background(stack, churn.run())
        async with asyncio.timeout(CHANGES_SECONDS):
            await journal.until_changed(LEAST_CHANGES)
        churn.stop()
        await churning
        for proxy in proxies:
            proxy.plan = Calm()
        await churn.settle()

        async def all_is_well() -> None:
            await churn.fix()
            picture = await Picture.of(cluster.client)
            problems = waiting_pods(picture, namespace.name) + broken_gangs(picture) + overcommitted_nodes(picture)
            for keeper in keepers:
                problems += await differences(keeper.daemon, picture)
            assert not problems, "\n".join(problems)

        await cluster.eventually("both replicas see what there is, and all runs", all_is_well, seconds=SETTLE_SECONDS)

    assert journal.bindings
    assert not journal.usurped()
    assert not witness.seen
    assert not bound_twice(control_plane.audit_log)
    for keeper in keepers:
        assert set(keeper.ends) <= {LEASE_LOST}, keeper.ends
