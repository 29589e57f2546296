"""Real load from a Prometheus: the daemon asks it, and pods go where there is less of it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest_asyncio
from aiohttp import web

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang

USAGE = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: usage}]
metrics:
  type: prometheus
  address: ADDRESS
  interval: 1s
"""


class Prometheus:
    """Answers queries with the load of nodes, the same for CPU and memory."""

    def __init__(self) -> None:
        self.load: dict[str, float] = {}
        self.asked = 0
        self.address = ""

    async def query(self, _request: web.Request) -> web.Response:
        self.asked += 1
        now = time.time()
        result = [{"metric": {"instance": name}, "value": [now, str(part)]} for name, part in self.load.items()]
        return web.json_response({"status": "success", "data": {"resultType": "vector", "result": result}})


@pytest_asyncio.fixture(loop_scope="session")
async def prometheus() -> AsyncIterator[Prometheus]:
    """A server on a free port of this machine."""
    made = Prometheus()
    app = web.Application()
    app.router.add_get("/api/v1/query", made.query)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


async def test_a_busy_node_takes_pods_once_it_is_idle_again(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    prometheus: Prometheus,
    configure: Callable[[str], Awaitable[None]],
    daemon: Daemon,
) -> None:
    """Nothing else changes meanwhile: it is the load that wakes the scheduler."""
    pool = await simulated_nodes(2, cpu="4")
    busy, idle = pool.names
    prometheus.load = {busy: 0.95, idle: 0.05}
    await configure(USAGE.replace("ADDRESS", prometheus.address))

    async def read() -> None:
        load = (await daemon.document("/status"))["nodeLoad"]
        assert (load["source"], load["nodes"], load["stale"], load["problem"]) == ("prometheus", 2, False, ""), load

    await daemon.eventually("the load of both nodes has been read", read)
    await daemon.wait_metric("volcano_node_load_reads_total", 1, or_more=True, outcome="read")
    await namespace.apply(gang("train", 6, minimum=1, cpu="1", node_selector=pool.selector))
    pods = await namespace.wait_phases(Running=4, Pending=2)
    assert {each.node for each in pods if each.node} == {idle}
    for each in pods:
        if not each.node:
            await namespace.wait_reported(each.name, saying="had more than 80 % of their CPU in use")

    prometheus.load = {busy: 0.2, idle: 0.4}

    pods = await namespace.wait_phases(Running=6)
    assert {each.node for each in pods} == {busy, idle}
