"""The configuration that is installed keeps queues below the queue above them, and says what it ignores."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from e2e.conftest import SimulatedNodes
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, queue

CreateQueues = Callable[..., Awaitable[None]]
StartDaemon = Callable[..., Awaitable[Daemon]]

SIDE_BY_SIDE = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: proportion}, {name: nodeorder}]
"""


async def test_a_child_cannot_run_16_of_its_parents_8(
    namespace: Namespace, simulated_nodes: SimulatedNodes, create_queues: CreateQueues, start_daemon: StartDaemon
) -> None:
    dept, team = f"{namespace.name}-dept", f"{namespace.name}-team"
    pool = await simulated_nodes(2, cpu="8")
    await create_queues(queue(dept, capability={"cpu": "8"}), queue(team, parent=dept))
    await start_daemon()
    await namespace.apply(gang("work", 16, minimum=1, queue=team, node_selector=pool.selector))

    await namespace.wait_phases(Running=8, Pending=8)

    async def reported_whose_ceiling() -> None:
        for each in await namespace.pods():
            if not each.node:
                message = each.condition("PodScheduled").get("message", "")
                assert f"queue {dept}, above {team}: 8 cpu allocated + 1 asked > 8 capability" in message, message

    await namespace.cluster.eventually("the messages of the waiting pods", reported_whose_ceiling)
    held = (await namespace.cluster.queues())[dept].status["allocated"]["cpu"]
    assert held == "8"


async def test_fields_without_effect_are_reported_on_the_queue_until_they_have_one(
    namespace: Namespace,
    create_queues: CreateQueues,
    configure: Callable[[str], Awaitable[None]],
    start_daemon: StartDaemon,
) -> None:
    cluster = namespace.cluster
    dept, team = f"{namespace.name}-dept", f"{namespace.name}-team"
    await create_queues(queue(dept), queue(team, parent=dept))
    await configure(SIDE_BY_SIDE)
    await start_daemon()

    why = f"spec.parent ({dept}) has no effect on shares and limits: proportion treats all queues as siblings"
    await cluster.wait_queue_event(team, "FieldsIgnored", saying=f"queue {team}: {why}")
    await has_condition(cluster, team, "True", why)
    assert not [each for each in conditions(await cluster.queues(), dept) if each["type"] == "FieldsIgnored"]

    await configure(SIDE_BY_SIDE.replace("name: proportion", "name: proportion, enableHierarchy: true"))

    await has_condition(cluster, team, "False", "")


def conditions(queues: dict[str, Any], name: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = queues[name].status.get("conditions", [])
    return found


async def has_condition(cluster: Cluster, name: str, status: str, message: str) -> None:
    async def has() -> None:
        found = [each for each in conditions(await cluster.queues(), name) if each["type"] == "FieldsIgnored"]
        assert [each["status"] for each in found] == [status], found
        assert found[0]["message"].startswith(message), found

    await cluster.eventually(f"FieldsIgnored of {name} is {status}", has)
