"""The cluster changes after the scheduler has decided, while its bindings are on their way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.injection.plans import Call, Gate, is_binding
from e2e.faults.injection.proxy import FaultProxy
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, pod, pod_group
from e2e.harness.views import PodView, listed


def bindings_of(namespace: Namespace, *pods: str) -> Callable[[Call], bool]:
    """Matches the bindings of these pods, or of all of the namespace."""
    return lambda call: is_binding(call) and call.namespace == namespace.name and (not pods or call.name in pods)


async def held(cluster: Cluster, gate: Gate, count: int) -> None:
    async def waiting() -> None:
        assert len(gate.held) == count, gate.held

    await cluster.eventually(f"{count} bindings under way", waiting)


async def everything_is_in_order(daemon: Daemon) -> None:
    assert (await daemon.document("/dump"))["drift"] == 0


@pytest.mark.parametrize("comes_again", [False, True])
async def test_a_pod_that_is_deleted_meanwhile_is_replaced_and_its_gang_completed(
    comes_again: bool,
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """Whether its binding finds nothing, or another pod that has its name; and others are not held up."""
    pool = await simulated_nodes(1, cpu="8")
    gate = proxy.plan = Gate(bindings_of(namespace, "train-1"))
    daemon = await start_daemon(server=proxy.url)
    await namespace.apply(gang("train", 3, node_selector=pool.selector))
    await held(cluster, gate, 1)
    await namespace.apply(gang("fine", 2, node_selector=pool.selector, labels={"of": "fine"}))
    await namespace.wait_phases(selector="of=fine", Running=2)

    replacement = pod("train-1", group="train", node_selector=pool.selector)
    await namespace.delete_pod("train-1")
    if comes_again:
        await namespace.apply(replacement)
    gate.open()
    if not comes_again:
        await namespace.wait_event("Unschedulable", "PodGroup/train", saying="NotEnoughTasks")
        await namespace.apply(replacement)

    await namespace.wait_phases(Running=5)
    await namespace.wait_pod_group("train", "Running")
    await daemon.wait_metric("volcano_binds_total", 1, outcome="gone")
    await everything_is_in_order(daemon)


async def test_pods_of_a_group_that_is_deleted_half_bound_get_a_reason(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """What was decided is carried out; what comes later waits for the PodGroup, and others go on."""
    pool = await simulated_nodes(1, cpu="8")
    gate = proxy.plan = Gate(bindings_of(namespace), passes=1)
    daemon = await start_daemon(server=proxy.url)
    await namespace.apply(gang("train", 3, node_selector=pool.selector))
    await held(cluster, gate, 2)

    await namespace.delete_pod_group("train")
    gate.open()
    await namespace.wait_phases(Running=3)
    await namespace.apply(pod("train-3", group="train", node_selector=pool.selector))
    await namespace.wait_event("FailedScheduling", "Pod/train-3", saying="PodGroupNotFound")
    await namespace.apply(gang("fine", 2, node_selector=pool.selector))
    await namespace.wait_phases(Running=5, Pending=1)

    await namespace.apply(pod_group("train", 4))

    await namespace.wait_phases(Running=6)
    await namespace.wait_pod_group("train", "Running")
    await everything_is_in_order(daemon)


async def test_a_node_that_is_deleted_meanwhile_costs_no_gang_its_pods(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """Bindings to it are valid, to the API server; the pods count on the node until a user deletes them."""
    selector = {"e2e.volcano-py/for": namespace.name}
    pool = await simulated_nodes(2, cpu="2", labels=selector)
    gate = proxy.plan = Gate(bindings_of(namespace))
    daemon = await start_daemon(server=proxy.url)
    await namespace.apply(gang("train", 4, node_selector=selector))
    await held(cluster, gate, 4)

    await cluster.delete(f"/api/v1/nodes/{pool.names[0]}")
    gate.open()

    async def all_bound() -> list[PodView]:
        stranded = [each for each in await namespace.pods() if each.node == pool.names[0]]
        assert len(stranded) == 2, listed(await namespace.pods())
        return stranded

    stranded = await cluster.eventually("two pods on the node that is gone", all_bound)
    await namespace.wait_phases(Running=2, Pending=2)
    for each in stranded:
        # Its kubelet is gone too, so nothing would confirm its end.
        path = f"/api/v1/namespaces/{namespace.name}/pods/{each.name}"
        await cluster.client.delete(path, {"gracePeriodSeconds": 0})
        await namespace.apply(pod(each.name, group="train", node_selector=selector))
    await namespace.wait_event("Unschedulable", "PodGroup/train", saying="Insufficient cpu")

    await simulated_nodes(1, cpu="2", labels=selector)

    await namespace.wait_phases(Running=4)
    await everything_is_in_order(daemon)
