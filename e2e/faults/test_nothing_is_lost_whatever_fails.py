"""Everything fails at once: watches, calls, the daemon, the API server and etcd, while the cluster never rests.

Afterwards, when the faults have stopped, the cluster must be as it would be had nothing failed. Only the API server's
own word counts, asked past the proxy.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.churning.churn import NODE_CPUS, Churn
from e2e.faults.churning.keeper import KILLED, LEASE_LOST, Keeper, in_background
from e2e.faults.conftest import Scale
from e2e.faults.injection.plans import Calm, Seeded
from e2e.faults.injection.proxy import FaultProxy
from e2e.faults.invariants.afterwards import all_is_as_if_nothing_had_failed
from e2e.faults.invariants.cluster import bound_twice
from e2e.faults.invariants.witness import Witness
from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.objects import queue
from volcano_py.local.controlplane import ControlPlane

# Shorter than the defaults: what the proxy makes watches lose must not stay lost for an hour, nor a dead leader's Lease
# be kept for a quarter of a minute.
FLAGS = (
    "--resync-period=15s",
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
)

NODES = 6
LEAST_FAULTS, LEAST_FAULTS_SOAK = 200, 1000
CHURN_SECONDS = 75.0
CRASHES, CRASHES_SOAK = 2, 5
"""Of the daemon, and half as many of the API server and of etcd, rounded up."""
_DOWN = (0.5, 3.0)
"""Seconds for which etcd is down."""


class Crashes:
    """kill -9 at seeded moments."""

    def __init__(self, control_plane: ControlPlane, keeper: Keeper, count: Callable[[str, int], None]) -> None:
        self._control_plane, self._keeper, self._count = control_plane, keeper, count

    async def daemon(self) -> None:
        await self._keeper.crash()
        self._count("kill -9 of the daemon", 1)

    async def api_server(self) -> None:
        await self._control_plane.kill("kube-apiserver")
        self._count("kill -9 of the API server", 1)
        await self._control_plane.start("kube-apiserver")

    async def etcd(self) -> None:
        await self._control_plane.kill("etcd")
        self._count("kill -9 of etcd", 1)
        await asyncio.sleep(random.uniform(*_DOWN))
        await self._control_plane.start("etcd")

    async def are_over(self) -> None:
        """Kubernetes' garbage collector looks at everything again.

        When the API server was away, its watches of custom kinds begin again without memory, so that jobs deleted
        meanwhile are never missed, and their pods stay. That is its own defect; a start makes up for it.
        """
        await self._control_plane.stop("kube-controller-manager")
        await self._control_plane.start("kube-controller-manager")

    async def run(self, rng: random.Random, times: int, seconds: float) -> None:
        """`times` crashes of the daemon and half as many of the others, spread over `seconds`."""
        half = (times + 1) // 2
        plan = [self.daemon] * times + [self.api_server] * half + [self.etcd] * half
        rng.shuffle(plan)
        for crash in plan:
            await asyncio.sleep(rng.uniform(0.5, 1.5) * seconds / (len(plan) + 1))
            await crash()


@pytest.mark.timeout(1800)
async def test_whatever_fails_the_cluster_ends_as_if_nothing_had(
    scale: Scale,
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    proxy: FaultProxy,
    start_daemon: StartDaemon,
    count_faults: Callable[[str, int], None],
    report: Callable[[str], None],
) -> None:
    """Gangs are whole, no node has too much, every pod was bound once, all that fits runs, the books are right, and
    jobs have what they ask for."""
    await cluster.wait_namespaces_gone()
    pool = await simulated_nodes(NODES, cpu=str(NODE_CPUS))
    queues = tuple(f"{namespace.name}-{name}" for name in ("red", "green", "blue"))
    await create_queues(*(queue(name, weight=weight) for weight, name in enumerate(queues, start=1)))
    daemon = await start_daemon(*FLAGS, server=proxy.url)
    churn, witness = Churn(namespace, pool, queues, scale.seed), Witness(cluster)
    seconds = scale.soak_seconds / 2 if scale.soak else CHURN_SECONDS
    least = LEAST_FAULTS_SOAK if scale.soak else LEAST_FAULTS

    async with AsyncExitStack() as stack:
        keeper = await stack.enter_async_context(Keeper(daemon))
        crashes = Crashes(control_plane, keeper, count_faults)
        await in_background(stack, witness.run())
        churning = await in_background(stack, churn.run())
        proxy.plan = Seeded(scale.seed)
        async with asyncio.timeout(6 * seconds):
            await crashes.run(random.Random(scale.seed), CRASHES_SOAK if scale.soak else CRASHES, seconds)
            await proxy.until_injected(least)
        churn.stop()
        await churning
        proxy.plan = Calm()
        await crashes.are_over()
        await all_is_as_if_nothing_had_failed(cluster, namespace, pool, daemon, churn, report)

    assert not witness.seen
    assert witness.looks > seconds / 10
    assert not bound_twice(control_plane.audit_log)
    assert set(keeper.ends) <= {KILLED, LEASE_LOST}, keeper.ends
    assert proxy.faults >= least
