"""HyperNodes on a real API server: gangs stay in a rack while the tree changes and the daemon restarts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any

import pytest_asyncio

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import QUICK_ELECTION
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang

CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: nodeorder}, {name: network-topology-aware}]
"""
Configure = Callable[[str], Awaitable[None]]
Wire = Callable[[Mapping[str, Iterable[str]]], Awaitable[None]]


@pytest_asyncio.fixture(loop_scope="session")
async def wire(cluster: Cluster) -> AsyncIterator[Wire]:
    """Create or change racks with these nodes; they are deleted after the test."""
    made: set[str] = set()

    async def apply(racks: Mapping[str, Iterable[str]]) -> None:
        made.update(racks)
        for name, nodes in racks.items():
            await cluster.apply([rack(name, nodes)])

    yield apply
    for name in sorted(made):
        await cluster.kubectl("delete", "hypernode", name, "--ignore-not-found")


def rack(name: str, nodes: Iterable[str]) -> dict[str, Any]:
    members = [{"type": "Node", "selector": {"exactMatch": {"name": each}}} for each in nodes]
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": 1, "tierName": "rack", "members": members},
    }


def together(name: str, size: int, *, minimum: int | None = None, **of_pods: Any) -> list[dict[str, Any]]:
    """A gang that is limited to one rack."""
    group, *pods = gang(name, size, minimum=minimum, **of_pods)
    group["spec"]["networkTopology"] = {"mode": "hard", "highestTierName": "rack"}
    return [group, *pods]


async def test_a_gang_waits_for_a_rack_and_goes_there_when_the_tree_says_so(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    configure: Configure,
    start_daemon: StartDaemon,
    wire: Wire,
) -> None:
    await configure(CONFIGURATION)
    await start_daemon()
    pool = await simulated_nodes(4, cpu="4")
    first, second, third, fourth = pool.names
    await wire({"e2e-rack-a": [first, second], "e2e-rack-b": [third, fourth]})
    await namespace.apply(together("train", 3, cpu="4", node_selector=pool.selector))
    await namespace.wait_reported("train-0", saying="has room for 2 of 3 pods")

    await wire({"e2e-rack-a": [first, second, third], "e2e-rack-b": [fourth]})
    running = await namespace.wait_phases(Running=3)
    assert {each.node for each in running} == {first, second, third}
    await namespace.wait_event("PlacedInHyperNode", "PodGroup/train", saying="e2e-rack-a")


async def test_pods_come_back_to_the_rack_of_their_gang_after_a_restart(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    configure: Configure,
    start_daemon: StartDaemon,
    wire: Wire,
) -> None:
    """Half of the gang runs; the daemon is killed, and another finds the rest a place in the same rack."""
    await configure(CONFIGURATION)
    daemon = await start_daemon(*QUICK_ELECTION)
    pool = await simulated_nodes(4, cpu="4")
    await wire({"e2e-rack-a": pool.names[:2], "e2e-rack-b": pool.names[2:]})
    objects = together("train", 4, minimum=2, cpu="2", node_selector=pool.selector)
    await namespace.apply(objects[:3])
    running = await namespace.wait_phases(Running=2)
    of_gang = set(pool.names[:2]) if running[0].node in pool.names[:2] else set(pool.names[2:])

    await daemon.kill()
    successor = await start_daemon(*QUICK_ELECTION)
    await successor.wait_leading()
    await namespace.apply(objects[3:])
    running = await namespace.wait_phases(Running=4)
    assert {each.node for each in running} <= of_gang
