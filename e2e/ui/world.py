"""A small cluster in which everything is seen that the page shows: queues that borrow, jobs that wait, an eviction."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon, daemon_kubeconfig
from e2e.harness.install import CONFIG_KEY, CONFIG_MAP_PATH, give_lease_back
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, gang, pod, pod_group, queue
from volcano_py.local.nodes import create_nodes

CONFIGURATION: Final = """
actions: "enqueue, allocate, backfill, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: capacity
    enableHierarchy: true
  - name: nodeorder
    arguments:
      leastrequested.weight: 2
"""
RACK: Final = "topology.kubernetes.io/rack"
RACKS: Final = ("a", "b")
NAMESPACES: Final = ("batch", "research", "shop")
URGENT: Final = "page-urgent"
QUEUES: Final = (
    queue("batch", deserved={"cpu": "20"}, reclaimable=False),
    queue("research", deserved={"cpu": "24"}),
    queue("vision", parent="research", deserved={"cpu": "16"}),
    queue("language", parent="research", deserved={"cpu": "4"}, capability={"cpu": "4"}),
    queue("shop", deserved={"cpu": "20"}, guarantee={"resource": {"cpu": "8"}}, capability={"cpu": "40"}),
)


@contextlib.asynccontextmanager
async def world(cluster: Cluster, directory: Path) -> AsyncIterator[Cluster]:
    """The cluster, with the objects below and a daemon, at rest. The daemon records into `directory`/record."""
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(_configured(cluster))
        await stack.enter_async_context(_objects(cluster, [_urgent(), *QUEUES, *map(_hyper_node, RACKS)]))
        await stack.enter_async_context(_nodes(cluster))
        kubeconfig = await daemon_kubeconfig(cluster, directory / "daemon.kubeconfig")
        daemon = Daemon("daemon-1", kubeconfig, directory, ("--record", str(directory / "record")))
        stack.push_async_callback(give_lease_back, cluster)
        await daemon.start()
        stack.push_async_callback(daemon.stop)
        await daemon.wait_queues(*(each["metadata"]["name"] for each in QUEUES))
        spaces = [await stack.enter_async_context(_namespace(cluster, name)) for name in NAMESPACES]
        await _work(*spaces)
        yield cluster


async def _work(batch: Namespace, research: Namespace, shop: Namespace) -> None:
    """Rack a belongs to batch, which holds more than it deserves; in rack b one pod of shop goes for another."""
    on = {name: {RACK: name} for name in RACKS}
    await batch.apply(gang("nightly", 28, minimum=1, queue="batch", cpu="1", node_selector=on["a"]))
    await shop.apply(gang("serve", 2, minimum=1, queue="shop", cpu="8", node_selector=on["b"]))
    await shop.wait_phases(Running=2)
    await research.apply(gang("train", 3, queue="vision", cpu="4", node_selector=on["b"]))
    await research.wait_phases(Running=3)
    await batch.wait_phases(Running=28)
    await shop.apply(
        pod_group("checkout", 1, queue="shop", priority_class=URGENT),
        pod("checkout-0", group="checkout", cpu="8", node_selector=on["b"], priority_class=URGENT),
    )
    await shop.wait_phases(Running=2)
    await research.apply(gang("tune", 2, queue="language", cpu="4"))
    await research.apply(gang("eval", 1, queue="vision", cpu="8", node_selector=on["b"]))
    await shop.apply(gang("huge", 1, queue="shop", cpu="16"))
    await research.wait_reported("tune-1", saying="capability")
    await research.wait_reported("eval-0", saying="nodes are unavailable")
    await shop.wait_reported("huge-0", saying="16 cpu")


def _urgent() -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": URGENT},
        "value": 1000,
    }


def _hyper_node(rack: str) -> Object:
    members = [{"type": "Node", "selector": {"exactMatch": {"name": f"rack-{rack}-{number}"}}} for number in range(4)]
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": f"rack-{rack}"},
        "spec": {"tier": 1, "tierName": "rack", "members": members},
    }


@contextlib.asynccontextmanager
async def _configured(cluster: Cluster) -> AsyncIterator[None]:
    shipped = (await cluster.client.get(CONFIG_MAP_PATH))["data"][CONFIG_KEY]
    await cluster.client.merge_patch(CONFIG_MAP_PATH, {"data": {CONFIG_KEY: CONFIGURATION}})
    try:
        yield
    finally:
        await cluster.client.merge_patch(CONFIG_MAP_PATH, {"data": {CONFIG_KEY: shipped}})


@contextlib.asynccontextmanager
async def _objects(cluster: Cluster, objects: list[dict[str, Any]]) -> AsyncIterator[None]:
    """Cluster-scoped ones, taken away in the opposite order."""
    await cluster.apply(objects)
    try:
        yield
    finally:
        for each in reversed(objects):
            await cluster.kubectl("delete", each["kind"].lower(), each["metadata"]["name"], "--ignore-not-found")


@contextlib.asynccontextmanager
async def _nodes(cluster: Cluster) -> AsyncIterator[None]:
    names: list[str] = []
    for rack in RACKS:
        names += await create_nodes(
            cluster.client,
            4,
            allocatable={"cpu": "8", "memory": "32Gi"},
            labels={RACK: rack},
            name_format=f"rack-{rack}-{{}}",
        )

    async def schedulable() -> None:
        nodes = (await cluster.client.get("/api/v1/nodes"))["items"]
        tainted = [each["metadata"]["name"] for each in nodes if each["spec"].get("taints")]
        assert not {*tainted} & {*names}, tainted

    try:
        await cluster.eventually("nodes without taints", schedulable)
        yield
    finally:
        for name in names:
            await cluster.delete(f"/api/v1/nodes/{name}")


@contextlib.asynccontextmanager
async def _namespace(cluster: Cluster, name: str) -> AsyncIterator[Namespace]:
    namespace = Namespace(cluster, name)
    await namespace.create()
    try:
        yield namespace
    finally:
        await namespace.remove()
        await cluster.wait_namespaces_gone()
