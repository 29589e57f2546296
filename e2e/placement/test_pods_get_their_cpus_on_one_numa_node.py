"""Numatopologies, as Volcano's resource-exporter writes them, decide where pods with a NUMA policy run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import pytest_asyncio

from e2e.conftest import Configure, SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, gang, pod

_TOPOLOGIES: Final = "/apis/nodeinfo.volcano.sh/v1alpha1/numatopologies"
_POLICY: Final = {"volcano.sh/numa-topology-policy": "single-numa-node"}
CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: numa-aware}]
"""

Publish = Callable[..., Awaitable[None]]


@pytest_asyncio.fixture(loop_scope="session")
async def publish(installed: Cluster) -> AsyncIterator[Publish]:
    """Writes what is free of the eight CPUs of a node, on two NUMA nodes, and which pods have which of the others."""
    written = list[str]()

    async def write(node: str, free: str, namespace: str = "", **shown: str) -> None:
        allocations = [
            {
                "namespace": namespace,
                "name": name.replace("_", "-"),
                "containerAllocations": [{"name": "main", "allocations": {"cpu": cpus}}],
            }
            for name, cpus in shown.items()
        ]
        spec = {
            "policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "single-numa-node"},
            "numares": {"cpu": {"allocatable": free, "capacity": 8}},
            "cpuDetail": {str(cpu): {"numa": cpu // 4, "socket": cpu // 4, "core": cpu % 4} for cpu in range(8)},
            "podAllocations": allocations,
        }
        if node in written:
            await installed.client.merge_patch(f"{_TOPOLOGIES}/{node}", {"spec": spec})
            return
        kind = {"apiVersion": "nodeinfo.volcano.sh/v1alpha1", "kind": "Numatopology"}
        await installed.client.create(_TOPOLOGIES, {**kind, "metadata": {"name": node}, "spec": spec})
        written.append(node)

    yield write
    for node in written:
        await installed.client.delete(f"{_TOPOLOGIES}/{node}")


def pinned(cpus: int) -> dict[str, Any]:
    """The fields of a pod's spec: a container with CPUs of its own."""
    limits = {"cpu": str(cpus), "memory": "64Mi"}
    container: Object = {"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"limits": limits}}
    return {"containers": [container]}


async def test_a_gang_fills_numa_nodes_and_the_next_one_waits_until_the_object_changes(
    installed: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    start_daemon: StartDaemon,
    configure: Configure,
    publish: Publish,
) -> None:
    """Two pods of three CPUs fit, one on each NUMA node; then two CPUs are left, but not on one. A restart knows the
    CPUs of the pods before the object shows them."""
    await configure(CONFIGURATION)
    daemon = await start_daemon()
    pool = await simulated_nodes(1, cpu="8")
    (node,) = pool.names
    await publish(node, "0-7")
    await namespace.apply(gang("train", 2, node_selector=pool.selector, annotations=_POLICY, **pinned(3)))
    await namespace.wait_phases(Running=2)

    await daemon.stop()
    await start_daemon()
    await namespace.apply([pod("late", node_selector=pool.selector, annotations=_POLICY, **pinned(2))])
    message = f"node {node} has 1 of 4 CPUs free on NUMA node 0, 1 of 4 on NUMA node 1"
    await namespace.wait_event("FailedScheduling", "Pod/late", saying=message)

    await publish(node, "3,7", namespace.name, train_0="0-2", train_1="4-6")
    await namespace.delete_pod("train-0")
    await namespace.wait_phases(Running=1, Pending=1)
    await publish(node, "0-3,7", namespace.name, train_1="4-6")
    await namespace.wait_phases(Running=2)
