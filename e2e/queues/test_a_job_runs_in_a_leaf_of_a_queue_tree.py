"""A Volcano Job in a leaf of hierarchical queues is charged to the leaf and to the queue above, whose ceiling holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest_asyncio

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod_spec, queue
from volcano_py.api.quantity import parse_quantity

CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: capacity, enableHierarchy: true}, {name: nodeorder}]
"""


@pytest_asyncio.fixture(loop_scope="session")
async def hierarchical(
    configure: Callable[[str], Awaitable[None]], start_daemon: Callable[..., Awaitable[Daemon]]
) -> Daemon:
    await configure(CONFIGURATION)
    return await start_daemon()


async def test_it_takes_what_the_queue_above_leaves_it(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    hierarchical: Daemon,
) -> None:
    """There is room for six pods, the department may have four, and three are enough to start."""
    pool = await simulated_nodes(2, cpu="3")
    dept, team = f"{namespace.name}-dept", f"{namespace.name}-team"
    await create_queues(
        queue(dept, capability={"cpu": "4"}, deserved={"cpu": "4"}),
        queue(team, parent=dept, deserved={"cpu": "2"}),
    )
    spec = pod_spec(node_selector=pool.selector, scheduler_name="", restartPolicy="Never")
    task = {"name": "worker", "replicas": 6, "minAvailable": 3, "template": {"spec": spec}}
    body = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"queue": team, "tasks": [task]},
    }
    await namespace.apply(body)

    await namespace.wait_phases(Running=4, Pending=2)

    async def held() -> None:
        queues = await namespace.cluster.queues()
        found = {name: parse_quantity(queues[name].status["allocated"]["cpu"]) for name in (dept, team)}
        assert found == {dept: 4, team: 4}

    async def running() -> None:
        path = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace.name}/jobs/train"
        status: dict[str, Any] = (await namespace.cluster.client.get(path))["status"]
        assert (status["state"]["phase"], status["running"], status["pending"]) == ("Running", 4, 2), status

    await namespace.cluster.eventually("leaf and department hold four cpus", held)
    await namespace.cluster.eventually("the job runs with four of its six pods", running)
