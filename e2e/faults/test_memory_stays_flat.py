"""Twenty minutes of churn and faults: in the second half the daemon must not need more memory than when it was warm."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.churning.churn import NODE_CPUS, Churn
from e2e.faults.churning.keeper import in_background
from e2e.faults.conftest import SOAK_MINUTES, Scale
from e2e.faults.injection.plans import Calm, Seeded
from e2e.faults.injection.proxy import FaultProxy
from e2e.faults.invariants.afterwards import all_is_as_if_nothing_had_failed
from e2e.faults.invariants.memory import MemoryLog
from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.objects import queue

WARM_PART = 0.5
"""Of the time: until all code has been run, the population has reached its size, and what is remembered has filled:
events are counted on for ten minutes. Ten minutes are left."""
MOST_GROWTH = 256 * 1024
"""Bytes a minute. Memory goes up and down by a MiB or so, which over ten minutes looks like a slope of half as much."""
FILLS_AFTER = 5
"""Minutes after which only what is remembered may still grow,"""
MOST_FILLING = 6 * 1024**2
"""by so many bytes in all."""

MIB = 1024**2


@pytest.mark.soak
async def test_memory_does_not_grow_with_what_has_happened(
    scale: Scale,
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    proxy: FaultProxy,
    start_daemon: StartDaemon,
    report: Callable[[str], None],
) -> None:
    """One process from the beginning to the end, without a Lease that it could lose; and nothing is lost either."""
    seconds = scale.soak_seconds
    pool = await simulated_nodes(6, cpu=str(NODE_CPUS))
    queues = (f"{namespace.name}-red", f"{namespace.name}-blue")
    await create_queues(*map(queue, queues))
    daemon = await start_daemon("--leader-elect=false", "--resync-period=60s", server=proxy.url)
    memory, churn = MemoryLog(lambda: daemon.process.pid), Churn(namespace, pool, queues, scale.seed)
    async with AsyncExitStack() as stack:
        measuring = await in_background(stack, memory.run())
        churning = await in_background(stack, churn.run())
        proxy.plan = Seeded(scale.seed)
        await asyncio.sleep(seconds)
        measuring.cancel()
        churn.stop()
        await churning
        proxy.plan = Calm()
        await all_is_as_if_nothing_had_failed(cluster, namespace, pool, daemon, churn, report)

    growth = memory.growth_per_minute(after=seconds * WARM_PART)
    first, last = memory.warm(after=seconds * WARM_PART)
    by_minute = memory.by_minute()
    report(
        f"{proxy.faults} faults and {churn.changes} changes in {scale.soak_minutes:g} minutes; resident memory "
        f"{first / MIB:.1f} MiB after half of them, {last / MIB:.1f} MiB at the end: "
        f"{growth / 1024:+.0f} KiB a minute; by minute " + " ".join(f"{size / MIB:.1f}" for size in by_minute)
    )
    assert daemon.process.running
    if scale.soak_minutes >= SOAK_MINUTES:  # before, what is remembered still fills
        assert growth < MOST_GROWTH
        assert by_minute[-1] - by_minute[FILLS_AFTER] < MOST_FILLING
