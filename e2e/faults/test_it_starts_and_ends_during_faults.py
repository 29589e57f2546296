"""Starting while the API server does not answer, and ending while bindings are under way."""

from __future__ import annotations

import asyncio

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.injection.plans import Always, Calm, Fault, Gate, is_binding
from e2e.faults.injection.proxy import FaultProxy
from e2e.harness.cluster import Cluster
from e2e.harness.install import LEASE_PATH
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang
from e2e.harness.waiting import WAIT_SECONDS

SILENT_SECONDS = 5.0


async def test_it_waits_for_a_server_that_accepts_and_never_answers(
    namespace: Namespace, simulated_nodes: SimulatedNodes, proxy: FaultProxy, start_daemon: StartDaemon
) -> None:
    """It is alive and not ready; once it is answered it works, without being restarted."""
    pool = await simulated_nodes(1)
    await namespace.apply(gang("train", 2, node_selector=pool.selector))
    proxy.plan = Always(lambda _call: True, Fault.SILENT, SILENT_SECONDS)
    daemon = await start_daemon(ready=False, server=proxy.url)
    await proxy.until_injected(3)

    async def alive_and_not_ready() -> None:
        assert (await daemon.get("/healthz"))[0] == 200
        assert (await daemon.get("/readyz"))[0] == 503

    await daemon.eventually("it is alive and not ready", alive_and_not_ready)
    proxy.plan = Calm()

    await namespace.wait_phases(Running=2)
    assert daemon.process.running


async def test_it_carries_out_what_it_had_decided_before_it_ends(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """SIGTERM comes when of three bindings one is done, one under way and one queued; what comes then is left alone."""
    pool = await simulated_nodes(1)
    gate = proxy.plan = Gate(lambda call: is_binding(call) and call.namespace == namespace.name, passes=1)
    daemon = await start_daemon("--binds-in-flight=1", server=proxy.url)
    await namespace.apply(gang("train", 3, node_selector=pool.selector))

    async def half_way() -> None:
        assert len(gate.held) == 1, gate.held
        assert sum(bool(each.node) for each in await namespace.pods()) == 1

    await cluster.eventually("one pod is bound, one binding under way", half_way)
    ending = asyncio.create_task(daemon.stop())

    async def stopping() -> None:
        assert any("stopping" in str(record.get("msg")) for record in daemon.log_records())

    await daemon.eventually("it has heard of its end", stopping)
    await namespace.apply(gang("late", 1, node_selector=pool.selector))
    gate.open()

    assert await ending == 0
    pods = {each.name: each.node for each in await namespace.pods()}
    assert pods == {**{f"train-{number}": pool.names[0] for number in range(3)}, "late-0": ""}


async def test_it_gives_the_lease_back_when_it_is_stopped_before_it_has_started(
    installed: Cluster, start_daemon: StartDaemon
) -> None:
    """It has the Lease before it has loaded what decides; a successor would wait for it to run out."""
    daemon = await start_daemon(ready=False)
    async with asyncio.timeout(WAIT_SECONDS):
        while not any(record.get("msg") == "became leader" for record in daemon.log_records()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    assert await daemon.stop() == 0
    assert "Traceback" not in daemon.process.log.read_text()
    assert not (await installed.client.get(LEASE_PATH))["spec"].get("holderIdentity")
