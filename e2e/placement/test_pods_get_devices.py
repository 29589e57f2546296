"""Pods with ResourceClaims: devices are chosen with nodes, and written before the pods are bound.

The test publishes what a driver would. Claims of templates are generated, and taken back from pods that are gone, by
Kubernetes' own controller.
"""

from __future__ import annotations

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.devices import Driver, by_name, claims_in, from_template
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, pod

_PROTECTED = "resource.kubernetes.io/delete-protection"


async def devices_of(namespace: Namespace) -> dict[str, set[tuple[str, str]]]:
    """Pod → (pool, device) of the claims that are reserved for it."""
    found: dict[str, set[tuple[str, str]]] = {}
    for claim in (await claims_in(namespace)).values():
        for user in claim.users:
            found.setdefault(user, set()).update(claim.devices)
    return found


def _none_free(driver: Driver, node: str) -> str:
    """What pods say of the one node that has the right devices."""
    asks = f"Request gpu asks for 1 device of DeviceClass {driver.device_class}"
    return f"{asks}; the most that is free on such a node is 0, on node {node}"


async def test_each_pod_of_a_gang_gets_a_device_of_its_node(
    driver: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """Four pods, two nodes with two devices each: every device is used once, with the parameters of its class."""
    pool = await simulated_nodes(2)
    for node in pool.names:
        await driver.publish(node, "gpu-0", "gpu-1")
    await namespace.apply(
        driver.template("one-gpu"), gang("train", 4, node_selector=pool.selector, **from_template("one-gpu"))
    )

    pods = await namespace.wait_phases(Running=4)

    got = await devices_of(namespace)
    assert {device for devices in got.values() for device in devices} == {
        (node, device) for node in pool.names for device in ("gpu-0", "gpu-1")
    }
    for each in pods:
        ((node, _),) = got[each.name]
        assert node == each.node
    for claim in (await claims_in(namespace)).values():
        assert len(claim.users) == 1
        assert _PROTECTED in claim.raw["metadata"]["finalizers"]
        ((node, _),) = claim.devices
        ((field,),) = [term["matchFields"] for term in claim.allocation["nodeSelector"]["nodeSelectorTerms"]]
        assert field == {"key": "metadata.name", "operator": "In", "values": [node]}
        (config,) = claim.allocation["devices"]["config"]
        assert config == {"source": "FromClass", "requests": ["gpu"], **driver.config[0]}


async def test_a_gang_that_lacks_one_device_gets_none_until_it_is_there(
    driver: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(2)
    here, there = pool.names
    await driver.publish(here, "gpu-0", "gpu-1")
    await namespace.apply(
        driver.template("one-gpu"), gang("train", 3, node_selector=pool.selector, **from_template("one-gpu"))
    )

    await namespace.wait_event("Unschedulable", "PodGroup/train", saying=_none_free(driver, here))
    assert not any(each.node for each in await namespace.pods())
    assert not any(claim.devices or claim.users for claim in (await claims_in(namespace)).values())

    await driver.publish(there, "gpu-0")
    await namespace.wait_phases(Running=3)
    assert sorted(device for devices in (await devices_of(namespace)).values() for device in devices) == sorted(
        [(here, "gpu-0"), (here, "gpu-1"), (there, "gpu-0")]
    )


async def test_a_pool_that_grows_lets_a_pod_in(
    driver: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """The next generation of the only node's pool has a second device."""
    pool = await simulated_nodes(1)
    (node,) = pool.names
    await driver.publish(node, "gpu-0")
    pods = [pod(name, node_selector=pool.selector, **from_template("one-gpu")) for name in ("a", "b")]
    await namespace.apply(driver.template("one-gpu"), pods)
    await namespace.wait_phases(Running=1, Pending=1)

    await driver.publish(node, "gpu-0", "gpu-1", generation=2)
    await namespace.wait_phases(Running=2)


async def test_pods_that_share_a_claim_run_where_its_device_is(
    driver: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(3)
    for node in pool.names:
        await driver.publish(node, "gpu-0")
    await namespace.apply(driver.claim("shared"), gang("train", 3, node_selector=pool.selector, **by_name("shared")))

    pods = await namespace.wait_phases(Running=3)

    claim = (await claims_in(namespace))["shared"]
    assert claim.users == {each.name for each in pods}
    ((node, device),) = claim.devices
    assert ({each.node for each in pods}, device) == ({node}, "gpu-0")


async def test_a_gang_that_shares_a_claim_goes_where_all_of_it_fits(
    driver: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """The other node is emptier and has a device, too, but room for two of three pods only."""
    label = {"e2e.volcano-py/shared": namespace.name}
    small = await simulated_nodes(1, cpu="2", memory="64Gi", labels=label)
    large = await simulated_nodes(1, cpu="8", labels=label)
    await namespace.apply(pod("there", cpu="5", memory="8Gi", node_selector=large.selector))
    await namespace.wait_phases(Running=1)
    for node in (*small.names, *large.names):
        await driver.publish(node, "gpu-0")

    await namespace.apply(driver.claim("shared"), gang("train", 3, node_selector=label, **by_name("shared", cpu="1")))

    pods = await namespace.wait_phases(Running=4)
    assert {each.node for each in pods} == set(large.names)
    assert (await claims_in(namespace))["shared"].devices == {(large.names[0], "gpu-0")}


async def test_a_claim_that_has_its_device_already_decides_the_node(
    driver: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """A second pod comes later, and a third one finds another device for its own claim."""
    pool = await simulated_nodes(2)
    for node in pool.names:
        await driver.publish(node, "gpu-0")
    await namespace.apply(
        driver.claim("first"), driver.claim("second"), pod("a", node_selector=pool.selector, **by_name("first"))
    )
    (first,) = await namespace.wait_phases(Running=1)

    await namespace.apply(
        pod("b", node_selector=pool.selector, **by_name("first")),
        pod("c", node_selector=pool.selector, **by_name("second")),
    )
    nodes = {each.name: each.node for each in await namespace.wait_phases(Running=3)}
    assert nodes["b"] == first.node
    assert nodes["c"] != first.node


async def test_a_selector_leads_to_the_node_with_such_devices(
    driver: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(3)
    for node, model in zip(pool.names, ("small", "large", "small"), strict=True):
        await driver.publish(node, "gpu-0", model=model)
    expression = f'device.attributes["{driver.name}"].model == "large"'
    large = driver.claim("large", selectors=[{"cel": {"expression": expression}}])
    await namespace.apply(large, pod("a", node_selector=pool.selector, **by_name("large")))

    (running,) = await namespace.wait_phases(Running=1)
    assert running.node == pool.names[1]


async def test_a_card_is_given_whole_or_in_halves(
    driver: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """Two halves leave nothing for a pod that wants the whole card; it gets it when both are gone."""
    pool = await simulated_nodes(1)
    (node,) = pool.names
    await driver.publish_card(node, 80, {"whole": 80, "half-0": 40, "half-1": 40})
    memory = f'device.capacity["{driver.name}"].memory'
    half, whole = ([{"cel": {"expression": f'{memory}.compareTo(quantity("{size}Gi")) == 0'}}] for size in ("40", "80"))
    await namespace.apply(
        driver.template("half", selectors=half),
        driver.template("whole", selectors=whole),
        gang("halves", 2, node_selector=pool.selector, **from_template("half")),
    )
    await namespace.wait_phases(Running=2)
    got = {device for devices in (await devices_of(namespace)).values() for device in devices}
    assert got == {(node, "half-0"), (node, "half-1")}

    await namespace.apply(pod("whole", node_selector=pool.selector, **from_template("whole")))
    await namespace.wait_event("FailedScheduling", "Pod/whole", saying="the most that is free on such a node is 0")
    await namespace.delete_pod("halves-0")
    await namespace.delete_pod("halves-1")
    await namespace.wait_phases(Running=1)
    assert (await devices_of(namespace))["whole"] == {(node, "whole")}


async def test_claims_share_a_device_as_long_as_its_capacity_lasts(
    driver: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """Two claims for 15 of 40 get 20 each, as the driver has steps of 10. A new daemon knows it."""
    daemon = await start_daemon()
    pool = await simulated_nodes(1)
    (node,) = pool.names
    await driver.publish_shared(node, "gpu-0", 40, 10)
    await namespace.apply(
        driver.template("some", capacity={"requests": {"memory": "15Gi"}}),
        gang("train", 2, node_selector=pool.selector, **from_template("some")),
    )
    await namespace.wait_phases(Running=2)
    results = [
        result for claim in (await claims_in(namespace)).values() for result in claim.allocation["devices"]["results"]
    ]
    assert [(each["device"], each["consumedCapacity"]) for each in results] == [("gpu-0", {"memory": "20Gi"})] * 2
    assert len({each["shareID"] for each in results}) == 2

    assert await daemon.stop() == 0
    await start_daemon()
    await namespace.apply(pod("late", node_selector=pool.selector, **from_template("some")))
    await namespace.wait_event("FailedScheduling", "Pod/late", saying="device")
    await namespace.delete_pod("train-0")
    await namespace.wait_phases(Running=2)


async def test_a_restart_keeps_allocations_and_a_deleted_pod_makes_room_for_the_next(
    driver: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """Both devices are in use; the new daemon knows it, and a third pod gets the one that is given back."""
    daemon = await start_daemon()
    pool = await simulated_nodes(1)
    await driver.publish(pool.names[0], "gpu-0", "gpu-1")
    await namespace.apply(
        driver.template("one-gpu"), gang("train", 2, node_selector=pool.selector, **from_template("one-gpu"))
    )
    await namespace.wait_phases(Running=2)
    before = await devices_of(namespace)

    assert await daemon.stop() == 0
    await start_daemon()
    await namespace.apply(pod("late", node_selector=pool.selector, **from_template("one-gpu")))
    await namespace.wait_event("FailedScheduling", "Pod/late", saying=_none_free(driver, pool.names[0]))
    assert await devices_of(namespace) == before

    await namespace.delete_pod("train-0")
    await namespace.wait_phases(Running=2)
    assert await devices_of(namespace) == {"train-1": before["train-1"], "late": before["train-0"]}


async def test_devices_that_hold_waiting_pods_back_are_released(
    driver: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """A scheduler has stopped before it bound them. Since then, the node of one pod was cordoned, so the pod gets a
    device of the other node: the one that the claim of a gang has, of which no pod fits."""
    pool = await simulated_nodes(2)
    cordoned, other = pool.names
    for node in pool.names:
        await driver.publish(node, "gpu-0")
    large = {"resources": {"requests": {"cpu": "64"}, "claims": [{"name": "gpu"}]}}
    stuck = by_name("of-the-gang")
    stuck["containers"] = [{**each, **large} for each in stuck["containers"]]
    await namespace.apply(
        driver.claim("mine"),
        driver.claim("of-the-gang"),
        pod("a", node_selector=pool.selector, **by_name("mine")),
        gang("stuck", 2, node_selector=pool.selector, **stuck),
    )
    pods = {each.name: each for each in await namespace.pods()}
    await driver.allocate(namespace, "mine", cordoned, "gpu-0", pods["a"])
    await driver.allocate(namespace, "of-the-gang", other, "gpu-0", pods["stuck-0"])
    await driver.cluster.client.merge_patch(f"/api/v1/nodes/{cordoned}", {"spec": {"unschedulable": True}})

    await start_daemon()
    running = {each.name: each.node for each in await namespace.wait_phases(Running=1, Pending=2)}

    assert running["a"] == other
    claims = await claims_in(namespace)
    assert claims["mine"].devices == {(other, "gpu-0")}
    assert claims["mine"].users == {"a"}
    assert (claims["of-the-gang"].devices, claims["of-the-gang"].users) == (set(), set())


async def test_a_class_that_does_not_exist_is_named_and_waited_for(
    installed: Cluster, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    driver = Driver(installed)
    pool = await simulated_nodes(1)
    await driver.publish(pool.names[0], "gpu-0")
    try:
        await namespace.apply(driver.claim("mine"), pod("a", node_selector=pool.selector, **by_name("mine")))
        missing = f"ResourceClaim {namespace.name}/mine names DeviceClass {driver.device_class}, which does not exist"
        await namespace.wait_event("FailedScheduling", "Pod/a", saying=missing)

        await driver.create_class()
        await namespace.wait_phases(Running=1)
    finally:
        await driver.remove()


async def test_a_claim_that_does_not_exist_is_named_and_waited_for(
    driver: Driver, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(1)
    await driver.publish(pool.names[0], "gpu-0")
    await namespace.apply(pod("a", node_selector=pool.selector, **by_name("mine")))
    await namespace.wait_event(
        "FailedScheduling", "Pod/a", saying=f"ResourceClaim {namespace.name}/mine does not exist"
    )

    await namespace.apply(driver.claim("mine"))
    await namespace.wait_phases(Running=1)
