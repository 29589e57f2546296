"""Restarts: the leader, the daemon, the API server."""

from __future__ import annotations

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.daemon import QUICK_ELECTION
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang
from volcano_py.local.controlplane import ControlPlane


async def test_the_standby_takes_over_from_a_killed_leader(
    namespace: Namespace, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """Both are ready; one leads; after kill -9 the other schedules what comes."""
    pool = await simulated_nodes(2)
    leader = await start_daemon(*QUICK_ELECTION)
    await namespace.apply(gang("first", 2, node_selector=pool.selector))
    await namespace.wait_phases(Running=2)
    await leader.wait_leading()
    standby = await start_daemon(*QUICK_ELECTION)
    assert await standby.metric("volcano_leader") == 0

    await leader.kill()
    await namespace.apply(gang("second", 2, node_selector=pool.selector))

    await namespace.wait_phases(Running=4)
    await standby.wait_leading()


async def test_a_stopped_leader_gives_its_lease_back_at_once(
    namespace: Namespace, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """With a Lease of ten minutes, the successor need not wait for it to run out."""
    pool = await simulated_nodes(2)
    leader = await start_daemon("--leader-elect-lease-duration=600s")
    await leader.wait_leading()
    standby = await start_daemon("--leader-elect-lease-duration=600s")

    await leader.stop()
    await namespace.apply(gang("train", 2, node_selector=pool.selector))

    await namespace.wait_phases(Running=2)
    await standby.wait_leading()


async def test_a_restarted_daemon_goes_on_where_it_was(
    namespace: Namespace, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """What runs stays, what waits runs when there is room, and nothing is bound twice."""
    pool = await simulated_nodes(1, cpu="4")
    daemon = await start_daemon(*QUICK_ELECTION)
    await namespace.apply(gang("first", 2, cpu="2", node_selector=pool.selector))
    before = {each.name: each.node for each in await namespace.wait_phases(Running=2)}
    await namespace.apply(gang("second", 2, cpu="2", node_selector=pool.selector))
    await namespace.wait_event("Unschedulable", "PodGroup/second")

    await daemon.kill()
    await start_daemon(*QUICK_ELECTION)
    for name in before:
        await namespace.delete_pod(name)

    running = await namespace.wait_phases(Running=2)
    assert {each.name for each in running} == {"second-0", "second-1"}


async def test_the_daemon_survives_a_restart_of_the_api_server(
    namespace: Namespace, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon, control_plane: ControlPlane
) -> None:
    """Watches resume, the Lease is renewed in time, and what comes afterwards is scheduled."""
    await namespace.cluster.wait_namespaces_gone()
    pool = await simulated_nodes(1)
    # A busy machine may need longer for the restart than the default renew deadline, after which a leader must end.
    daemon = await start_daemon("--leader-elect-lease-duration=120s", "--leader-elect-renew-deadline=100s")
    await namespace.apply(gang("before", 2, node_selector=pool.selector))
    await namespace.wait_phases(Running=2)

    await control_plane.restart_apiserver()
    await namespace.apply(gang("after", 2, node_selector=pool.selector))

    await namespace.wait_phases(Running=4)
    assert daemon.process.running
