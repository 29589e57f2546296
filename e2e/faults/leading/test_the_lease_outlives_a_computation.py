"""The leader's event loop computes for longer than the Lease lasts, or forever."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.injection.blockable import COMPUTED
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import QUICK_ELECTION, Daemon, daemon_kubeconfig
from e2e.harness.install import LEASE_PATH
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod


@pytest_asyncio.fixture(loop_scope="session")
async def leader(installed: Cluster, tmp_path: Path) -> AsyncIterator[Daemon]:
    """It leads; signals block its loop (see `blockable`)."""
    kubeconfig = await daemon_kubeconfig(installed, tmp_path / "blockable.kubeconfig")
    command = (sys.executable, "-m", "e2e.faults.injection.blockable", "run")
    daemon = Daemon("blockable", kubeconfig, tmp_path, QUICK_ELECTION, command=command)
    await daemon.start()
    await daemon.wait_leading()
    yield daemon
    await daemon.stop()


async def holder(cluster: Cluster) -> tuple[str, int]:
    """Whose the Lease is, and how often that has changed."""
    spec = (await cluster.client.get(LEASE_PATH))["spec"]
    return spec["holderIdentity"], spec["leaseTransitions"]


async def test_a_leader_that_computes_for_long_keeps_the_lease(
    leader: Daemon, cluster: Cluster, namespace: Namespace, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    pool = await simulated_nodes(1)
    await start_daemon(*QUICK_ELECTION)
    before = await holder(cluster)
    leader.process.send_signal(signal.SIGUSR1)

    async def goes_on() -> None:
        assert COMPUTED in leader.process.log_tail(1000)

    await leader.eventually("the computation has ended", goes_on)
    await namespace.apply(pod("after", node_selector=pool.selector))
    await namespace.wait_phases(Running=1)
    assert await holder(cluster) == before
    assert await leader.metric("volcano_leader") == 1


async def test_a_leader_that_computes_forever_is_ended_and_logs_where(
    leader: Daemon, cluster: Cluster, namespace: Namespace, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    pool = await simulated_nodes(1)
    standby = await start_daemon(*QUICK_ELECTION)
    leader.process.send_signal(signal.SIGUSR2)

    async def ended() -> None:
        assert leader.process.exit_code == 1

    await leader.eventually("the watchdog has ended it", ended)
    assert not (await holder(cluster))[0] or await standby.metric("volcano_leader") == 1, "it was given back"
    said = [record for record in leader.log_records() if record.get("msg") == "process hangs; ending it"]
    assert any("in compute" in line for line in said[0]["stacks"]["MainThread"]), said
    await namespace.apply(pod("after", node_selector=pool.selector))
    await namespace.wait_phases(Running=1)
