"""Queues limit devices of ResourceClaims by class; what is beyond waits until the queue has given devices back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest_asyncio

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.daemon import Daemon
from e2e.harness.devices import Driver, by_name, from_template
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, queue

CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: capacity, enableHierarchy: true}, {name: nodeorder}]
"""


@pytest_asyncio.fixture(loop_scope="session")
async def hierarchical(configure: Callable[[str], Awaitable[None]], start_daemon: StartDaemon) -> Daemon:
    await configure(CONFIGURATION)
    return await start_daemon()


async def test_a_department_has_so_many_devices_however_many_there_are(
    driver: Driver,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    hierarchical: Daemon,
) -> None:
    """Six devices, of which the department may have three. One claim is shared by two pods, and counts once."""
    pool = await simulated_nodes(1)
    await driver.publish(pool.names[0], *(f"gpu-{number}" for number in range(6)))
    resource = f"deviceclass/{driver.device_class}"
    dept, team, lab = (f"{namespace.name}-{name}" for name in ("dept", "team", "lab"))
    await create_queues(queue(dept, capability={resource: "3"}), queue(team, parent=dept), queue(lab, parent=dept))

    async def held(**devices: str) -> None:
        queues = await namespace.cluster.queues()
        found = {name: queues[f"{namespace.name}-{name}"].status["allocated"].get(resource) for name in devices}
        assert found == devices

    await namespace.apply(
        driver.template("one-gpu"),
        driver.claim("shared"),
        gang("both", 2, queue=team, node_selector=pool.selector, **by_name("shared")),
        gang("first", 2, queue=lab, node_selector=pool.selector, **from_template("one-gpu")),
    )
    await namespace.wait_phases(Running=4)
    await namespace.cluster.eventually("the department holds three devices", lambda: held(dept="3", team="1", lab="2"))

    await namespace.apply(gang("late", 1, queue=team, node_selector=pool.selector, **from_template("one-gpu")))
    beyond = f"queue {dept}, above {team}: 3 {resource} allocated + 1 asked > 3 capability"
    await namespace.wait_event("Unschedulable", "PodGroup/late", saying=beyond)

    await namespace.delete_pod("first-0")
    await namespace.wait_phases(Running=4)
    await namespace.cluster.eventually("the device goes to the team", lambda: held(dept="3", team="2", lab="1"))
