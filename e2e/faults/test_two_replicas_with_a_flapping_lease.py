"""Two replicas, each cut off from its Lease again and again: one decides at a time, and no work is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import pairwise

import orjson
import pytest

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.churn import NODE_CPUS, Churn
from e2e.faults.conftest import Scale
from e2e.faults.invariants import (
    Picture,
    bound_twice,
    broken_gangs,
    differences,
    overcommitted_nodes,
    waiting_pods,
)
from e2e.faults.keeper import LEASE_LOST, Keeper, in_background
from e2e.faults.plans import Call, Calm, Flapping, is_binding
from e2e.faults.proxy import FaultProxy
from e2e.faults.witness import Witness
from e2e.harness.cluster import Cluster
from e2e.harness.install import LEASE
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
"""Back-off of failed bindings up to 60 s, and nodes' pods that somebody has to delete and create again."""


@dataclass
class Journal:
    """What the API server has agreed to: who has the Lease from when on, and who bound when."""

    leaders: list[tuple[float, str]] = field(default_factory=list)
    """(when the answer was there, replica); "" when it was given back."""
    bindings: list[tuple[float, str, str]] = field(default_factory=list)
    """(when it was sent, replica, pod)"""
    _change: asyncio.Event = field(default_factory=asyncio.Event)

    def listen(self, replica: str, proxy: FaultProxy) -> None:
        """Write down what this replica does through its proxy."""

        def heard(call: Call, status: int, body: bytes, sent: float) -> None:
            if status >= 300:
                return
            if is_binding(call):
                self.bindings.append((sent, replica, f"{call.namespace}/{call.name}"))
            elif call.resource == "leases" and call.verb in ("create", "patch") and LEASE in (call.name, ""):
                self._took(replica, orjson.loads(body)["spec"].get("holderIdentity") or "")

        proxy.listeners.append(heard)

    def _took(self, replica: str, identity: str) -> None:
        leader = replica if identity else ""
        if not self.leaders or self.leaders[-1][1] != leader:
            self.leaders.append((asyncio.get_running_loop().time(), leader))
            self._change.set()

    @property
    def changes(self) -> int:
        """How often another replica has become the leader."""
        leaders = [leader for _, leader in self.leaders if leader]
        return sum(1 for before, after in pairwise(leaders) if before != after)

    async def until_changed(self, times: int) -> None:
        """Return when there have been so many changes."""
        while self.changes < times:
            self._change.clear()
            await self._change.wait()

    def usurped(self) -> list[str]:
        """Bindings that were sent while the Lease was the other replica's for certain."""
        found = []
        for sent, replica, pod in self.bindings:
            leader = next((leader for moment, leader in reversed(self.leaders) if moment < sent), "")
            if leader not in ("", replica):
                found.append(f"{pod} was bound by {replica} while {leader} had the Lease")
        return found


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
            await churn.mend()
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
