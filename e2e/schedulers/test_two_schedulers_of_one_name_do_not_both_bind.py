"""Two schedulers for one name without a Lease between them: one of the two stops deciding, reports it, and takes over
when the other has ended."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from e2e.conftest import NodePool, SimulatedNodes, StartDaemon
from e2e.faults.invariants.cluster import bound_twice
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.install import LEASE_PATH
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod
from volcano_py.local.controlplane import ControlPlane

NO_LEASE = "--leader-elect=false"
SILENCE = "--other-scheduler-silence=15s"
NODES, CPUS = 3, 4
KEPT = NODES * CPUS - 2


@asynccontextmanager
async def pods_keep_coming(cluster: Cluster, namespace: Namespace, pool: NodePool) -> AsyncIterator[None]:
    """A new pod, and an old one removed, several times a second: there is always something to decide, and room."""

    async def create() -> None:
        name = f"busy-{secrets.token_hex(2)}"
        for number in itertools.count():
            await namespace.apply(pod(f"{name}-{number}", node_selector=pool.selector))
            if number >= KEPT:
                # (at once: a simulated node may take half a minute to end a pod)
                path = f"/api/v1/namespaces/{namespace.name}/pods/{name}-{number - KEPT}"
                await cluster.delete(f"{path}?gracePeriodSeconds=0")
            await asyncio.sleep(0.1)

    task = asyncio.create_task(create())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def bindings(daemon: Daemon) -> float:
    """How many pods it has bound."""
    return await daemon.metric("volcano_binds_total", outcome="done")


async def wait_binds(daemon: Daemon, more: int = 5) -> None:
    """Wait until it has bound so many more pods."""
    now = await bindings(daemon)
    await daemon.wait_metric("volcano_binds_total", now + more, or_more=True, outcome="done")


async def test_a_daemon_does_not_begin_beside_a_scheduler_without_lease(
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    start_daemon: StartDaemon,
) -> None:
    """The first daemon runs as Volcano's own manifests run their scheduler. The Lease has never been held: the second
    one, which gets it, looks around before it decides."""
    pool = await simulated_nodes(NODES, cpu=str(CPUS))
    other = await start_daemon(NO_LEASE, SILENCE)
    async with pods_keep_coming(cluster, namespace, pool):
        await wait_binds(other)
        await cluster.delete(LEASE_PATH)
        ours = await start_daemon(SILENCE)  # it looks for the duration of a Lease, 15 s
        await ours.wait_leading()
        await ours.wait_metric("volcano_other_scheduler", 1)
        await wait_binds(other)
        status = (await ours.document("/status"))["otherScheduler"]
        assert status["lastPod"].startswith(f"{namespace.name}/busy-"), status
        assert await bindings(ours) == 0, "it has never bound a pod"
        assert await other.metric("volcano_other_scheduler") == 0
        events = await namespace.events(reason="OtherScheduler")
        assert len(events) == 1
        assert "under the scheduler name volcano" in events[0].message

        await other.stop()
        await ours.wait_metric("volcano_other_scheduler", 0)
        await wait_binds(ours)
    assert (await ours.document("/status"))["otherScheduler"] is None
    messages = [record["msg"] for record in ours.log_records()]
    paused = messages.index(
        "decisions paused: another scheduler binds pods of our scheduler name; stop it, or give one of the two "
        "another --scheduler-name"
    )
    assert "decisions resumed: the other scheduler has bound no pod lately" in messages[paused:]
    assert not bound_twice(control_plane.audit_log)


async def test_a_scheduler_that_was_silent_is_left_its_pods(
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    start_daemon: StartDaemon,
) -> None:
    """The first daemon has nothing to bind for so long that it counts as gone. When it binds again, the other one,
    which could decide the same, gives way."""
    pool = await simulated_nodes(NODES, cpu=str(CPUS))
    other = await start_daemon(NO_LEASE, SILENCE)
    async with pods_keep_coming(cluster, namespace, pool):
        await wait_binds(other)
        await cluster.delete(LEASE_PATH)
        ours = await start_daemon("--other-scheduler-silence=3s")
        await ours.wait_metric("volcano_other_scheduler", 1)
    await ours.wait_metric("volcano_other_scheduler", 0)
    await ours.wait_metric("volcano_cycles_total", 1, or_more=True, outcome="completed")
    async with pods_keep_coming(cluster, namespace, pool):
        await ours.wait_metric("volcano_other_scheduler", 1)
        await wait_binds(other, 20)
        assert await bindings(ours) == 0
        await other.stop()
        await wait_binds(ours)
    assert not bound_twice(control_plane.audit_log)


async def test_of_two_daemons_without_lease_one_stops(
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    start_daemon: StartDaemon,
) -> None:
    pool = await simulated_nodes(NODES, cpu=str(CPUS))
    daemons = [await start_daemon(NO_LEASE, SILENCE), await start_daemon(NO_LEASE, SILENCE)]
    async with pods_keep_coming(cluster, namespace, pool):

        async def one_stopped() -> tuple[Daemon, Daemon]:
            stopped = [await daemon.metric("volcano_other_scheduler") == 1 for daemon in daemons]
            assert sum(stopped) == 1, stopped
            return (daemons[0], daemons[1]) if stopped[0] else (daemons[1], daemons[0])

        stopped, goes_on = await daemons[0].eventually("one of the two has stopped deciding", one_stopped)
        await wait_binds(goes_on, 20)
        before = await bindings(stopped)
        await wait_binds(goes_on, 20)
        assert await bindings(stopped) == before
        await goes_on.stop()
        await wait_binds(stopped)
    assert not bound_twice(control_plane.audit_log)
