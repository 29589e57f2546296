"""Preemption for devices of ResourceClaims: cpu is there, but no free device."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from e2e.conftest import SimulatedNodes
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.devices import Driver, claims_in, from_template
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, pod, pod_group
from e2e.harness.preemption import PREEMPTING, URGENT


async def test_an_urgent_gang_gets_the_devices_of_one_of_lower_priority(
    driver: Driver,
    namespace: Namespace,
    installed: Cluster,
    simulated_nodes: SimulatedNodes,
    daemon: Daemon,
    configure: Callable[[str], Awaitable[None]],
) -> None:
    """A gang that uses only cpu stays; claims of victims are deleted with them, by Kubernetes' controller."""
    await installed.apply([URGENT])
    await configure(PREEMPTING)
    pool = await simulated_nodes(2, cpu="8")
    for node in pool.names:
        await driver.publish(node, "gpu-0")
    await namespace.apply(
        driver.template("one-gpu"),
        gang("low", 2, node_selector=pool.selector, **from_template("one-gpu")),
        gang("plain", 2, node_selector=pool.selector),
    )
    await namespace.wait_phases(Running=4)

    await namespace.apply(
        pod_group("high", 2, priority_class="e2e-urgent"),
        *(
            pod(
                f"high-{n}",
                group="high",
                priority_class="e2e-urgent",
                node_selector=pool.selector,
                **from_template("one-gpu"),
            )
            for n in (0, 1)
        ),
    )

    await namespace.wait_pod_group("high", "Running")
    await namespace.wait_event("Evict", "Pod/low-0", saying="makes room for")
    assert {each.name for each in await namespace.pods() if each.node} == {"high-0", "high-1", "plain-0", "plain-1"}

    async def given_on() -> None:
        claims = (await claims_in(namespace)).values()
        assert {user for claim in claims for user in claim.users} == {"high-0", "high-1"}
        assert {device for claim in claims for device in claim.devices} == {(node, "gpu-0") for node in pool.names}

    await installed.eventually("the devices are the urgent gang's", given_on)
