"""Pods that ask for an extended resource which a DeviceClass offers: they get devices by a ResourceClaim of their own.

The test publishes what a driver would. The claims are created by the daemon.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.devices import Driver, claims_in, with_resource
from e2e.harness.namespace import Namespace
from e2e.harness.objects import deployment, gang, pod


@pytest_asyncio.fixture(loop_scope="session")
async def offering(installed: Cluster) -> AsyncIterator[Driver]:
    """A driver whose class offers an extended resource."""
    driver = Driver(installed)
    await driver.create_class(extended=True)
    yield driver
    await driver.remove()


async def test_a_pod_gets_a_device_and_its_status_says_which_claim_has_it(
    offering: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(1)
    (node,) = pool.names
    await offering.publish(node, "gpu-0", "gpu-1")
    await namespace.apply(pod("a", node_selector=pool.selector, **with_resource(offering.resource, 2)))

    (running,) = await namespace.wait_phases(Running=1)

    ((name, claim),) = (await claims_in(namespace)).items()
    assert (claim.devices, claim.users) == ({(node, "gpu-0"), (node, "gpu-1")}, {"a"})
    assert name.startswith("a-extended-resources-")
    meta = claim.raw["metadata"]
    assert meta["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
    (owner,) = meta["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Pod", running.raw["metadata"]["uid"])
    (request,) = claim.raw["spec"]["devices"]["requests"]
    assert running.raw["status"]["extendedResourceClaimStatus"] == {
        "resourceClaimName": name,
        "requestMappings": [
            {"containerName": "main", "resourceName": offering.resource, "requestName": request["name"]}
        ],
    }
    assert (request["exactly"]["deviceClassName"], request["exactly"]["count"]) == (offering.device_class, 2)
    # What is written if the binding fails:
    path = f"/api/v1/namespaces/{namespace.name}/pods/a/status"
    await namespace.cluster.client.merge_patch(path, {"status": {"extendedResourceClaimStatus": None}})
    assert "extendedResourceClaimStatus" not in (await namespace.pods())[0].raw["status"]


async def test_the_third_replica_of_a_deployment_waits_for_the_third_device(
    offering: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """The implicit name of the class does as well; what a deleted pod had is given to the next."""
    pool = await simulated_nodes(1)
    (node,) = pool.names
    await offering.publish(node, "gpu-0", "gpu-1")
    resource = f"deviceclass.resource.kubernetes.io/{offering.device_class}"
    await namespace.apply(deployment("web", 3, node_selector=pool.selector, **with_resource(resource)))
    await namespace.wait_phases(Running=2, Pending=1)
    (waiting,) = [each.name for each in await namespace.pods() if not each.node]
    await namespace.wait_event(
        "FailedScheduling", f"Pod/{waiting}", saying="too few free devices for the pod's extended resources"
    )
    claims = (await claims_in(namespace)).values()
    assert sorted(device for claim in claims for _, device in claim.devices) == ["gpu-0", "gpu-1"]

    await namespace.apply(deployment("web", 2, node_selector=pool.selector, **with_resource(resource)))
    running = await namespace.wait_phases(Running=2)
    await namespace.cluster.delete(f"/api/v1/namespaces/{namespace.name}/pods/{running[0].name}")

    async def replaced() -> None:
        pods = await namespace.pods()
        assert len(pods) == 2
        assert running[0].name not in {each.name for each in pods}
        assert all(each.node for each in pods)

    await namespace.cluster.eventually("the device is given to the next pod", replaced)


async def test_nodes_with_a_device_plugin_and_nodes_with_devices_take_the_pods_of_one_gang(
    offering: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    mixed = {"e2e.example.com/mixed": offering.device_class}
    itself: dict[str, Any] = {offering.resource: "2"}
    (plugin,) = (await simulated_nodes(1, labels=mixed, **itself)).names
    (driven,) = (await simulated_nodes(1, labels=mixed)).names
    await offering.publish(driven, "gpu-0")
    await namespace.apply(gang("train", 3, node_selector=mixed, **with_resource(offering.resource)))

    pods = await namespace.wait_phases(Running=3)

    assert sorted(each.node for each in pods) == sorted([plugin, plugin, driven])
    (claim,) = (await claims_in(namespace)).values()
    (with_claim,) = [each for each in pods if each.node == driven]
    assert (claim.devices, claim.users) == ({(driven, "gpu-0")}, {with_claim.name})
    without = [each.raw["status"].get("extendedResourceClaimStatus") for each in pods if each.node == plugin]
    assert without == [None, None]


async def test_what_a_scheduler_left_that_was_stopped_is_used_or_replaced(
    offering: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """It had written one claim with its device, and had created the other without one. The pods have no nodes yet, and
    say nothing of their claims."""
    pool = await simulated_nodes(1)
    (node,) = pool.names
    await offering.publish(node, "gpu-0", "gpu-1")
    await namespace.apply(
        *(pod(name, node_selector=pool.selector, **with_resource(offering.resource)) for name in ("a", "b"))
    )
    pods = {each.name: each for each in await namespace.pods()}
    (request,) = {await offering.leave(namespace, each) for each in pods.values()}
    await offering.allocate(namespace, "a-left", node, "gpu-1", pods["a"], request=request)

    await start_daemon()
    running = {each.name: each.raw["status"] for each in await namespace.wait_phases(Running=2)}

    claims = await claims_in(namespace)
    assert len(claims) == 2
    named = {name: claims[each["extendedResourceClaimStatus"]["resourceClaimName"]] for name, each in running.items()}
    assert {name: claim.devices for name, claim in named.items()} == {"a": {(node, "gpu-1")}, "b": {(node, "gpu-0")}}
    assert "a-left" in claims
    assert "b-left" not in claims
