"""Events that never come. No API server does that, but proxies and defects do."""

from __future__ import annotations

from typing import Any

import orjson

from e2e.conftest import NodePool, SimulatedNodes, StartDaemon
from e2e.faults.injection.plans import Call, Calm, Fault, Injection
from e2e.faults.injection.proxy import FaultProxy
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, pod

LABEL = "e2e.volcano-py/late"


class LosingPods(Calm):
    """No event of a pod comes through; lists do."""

    async def for_event(self, call: Call) -> Injection | None:
        return Injection(Fault.DROPPED) if call.resource == "pods" else None


async def seen(daemon: Daemon, namespace: Namespace, name: str) -> dict[str, Any] | None:
    """The pod as the daemon has it."""
    _, text = await daemon.get("/dump")
    tasks: dict[str, dict[str, Any]] = orjson.loads(text)["tasks"]
    return tasks.get(f"{namespace.name}/{name}")


async def a_pod_that_waits_for_a_label(
    namespace: Namespace, simulated_nodes: SimulatedNodes, proxy: FaultProxy, daemon: Daemon
) -> NodePool:
    """After the daemon has written that, it gets no more events of pods."""
    pool = await simulated_nodes(1)
    await namespace.apply(pod("odd", node_selector={LABEL: namespace.name}))
    await namespace.wait_event("FailedScheduling", "Pod/odd")

    async def reported() -> None:
        known = await seen(daemon, namespace, "odd")
        assert known is not None
        assert known["reported"]

    await namespace.cluster.eventually("the daemon has seen the pod's condition", reported)
    proxy.plan = LosingPods()
    return pool


async def test_a_binding_finds_the_pod_bound_elsewhere(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """From then on its room is counted where it really is."""
    daemon = await start_daemon(server=proxy.url)
    pool = await a_pod_that_waits_for_a_label(namespace, simulated_nodes, proxy, daemon)
    (name,) = pool.names
    path = f"/api/v1/namespaces/{namespace.name}/pods/odd/binding"
    await cluster.client.create(path, {"metadata": {"name": "odd"}, "target": {"kind": "Node", "name": name}})
    await namespace.wait_phases(Running=1)

    await simulated_nodes(1, labels={LABEL: namespace.name})

    async def known() -> None:
        odd = await seen(daemon, namespace, "odd")
        assert odd is not None
        assert odd["node"] == name, odd

    await cluster.eventually("the daemon knows where the pod is", known)


async def test_a_binding_finds_the_pod_gone(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """From then on it takes no other pod's place."""
    daemon = await start_daemon(server=proxy.url)
    await a_pod_that_waits_for_a_label(namespace, simulated_nodes, proxy, daemon)
    await namespace.delete_pod("odd")

    await simulated_nodes(1, labels={LABEL: namespace.name})

    async def forgotten() -> None:
        assert await seen(daemon, namespace, "odd") is None

    await cluster.eventually("the daemon has forgotten the pod", forgotten)


async def test_a_new_list_brings_what_no_event_has_reported(
    namespace: Namespace, simulated_nodes: SimulatedNodes, proxy: FaultProxy, start_daemon: StartDaemon
) -> None:
    """A whole gang was never heard of."""
    pool = await simulated_nodes(1)
    await start_daemon("--resync-period=5s", server=proxy.url)
    proxy.plan = LosingPods()
    await namespace.apply(gang("train", 3, node_selector=pool.selector))

    await namespace.wait_phases(Running=3)
    await namespace.wait_pod_group("train", "Running")
