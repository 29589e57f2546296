"""kill -9 in the middle of binding a gang."""

from __future__ import annotations

import pytest

from e2e.conftest import Configure, SimulatedNodes, StartDaemon, Wire
from e2e.faults.injection.plans import Gate, is_binding
from e2e.faults.injection.proxy import FaultProxy
from e2e.faults.invariants.cluster import bound_twice
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.networks import BY_RACKS
from e2e.harness.objects import gang, pod
from volcano_py.local.controlplane import ControlPlane

SIZE = 5

NO_ELECTION = "--leader-elect=false"


async def killed_half_way(cluster: Cluster, namespace: Namespace, gate: Gate, daemon: Daemon, bound: int) -> None:
    """The daemon is killed once `bound` pods of the gang are bound, and nothing is left of its other requests."""

    async def half_way() -> None:
        placed = [each for each in await namespace.pods() if each.node]
        assert len(placed) == bound, placed
        assert len(gate.held) == SIZE - bound, gate.held

    await cluster.eventually(f"{bound} of {SIZE} pods bound, the rest under way", half_way)
    await daemon.kill()

    async def given_up() -> None:
        assert not gate.held, gate.held

    await cluster.eventually("no request waits for an answer to the other bindings", given_up)


@pytest.mark.parametrize("bound", [1, 3, 4])
async def test_what_was_bound_in_part_is_finished_first(
    bound: int,
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """The daemon dies after some of the bindings; meanwhile pods of higher priority come that want the same room."""
    pool = await simulated_nodes(1, cpu=str(SIZE))
    gate = Gate(is_binding, passes=bound)
    proxy.plan = gate
    daemon = await start_daemon(NO_ELECTION, server=proxy.url)
    await namespace.apply(gang("train", SIZE, node_selector=pool.selector))

    await killed_half_way(cluster, namespace, gate, daemon, bound)
    gate.open()
    for number in range(SIZE):
        await namespace.apply(
            pod(f"rival-{number}", node_selector=pool.selector, priority_class="system-cluster-critical")
        )
    await start_daemon(NO_ELECTION, server=proxy.url)

    pods = await namespace.wait_phases(Running=SIZE, Pending=SIZE)
    assert {each.name for each in pods if each.phase == "Running"} == {f"train-{number}" for number in range(SIZE)}
    assert not bound_twice(control_plane.audit_log)


async def test_the_rest_of_a_gang_with_a_hard_limit_goes_to_the_rack_of_those_that_were_bound(
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    configure: Configure,
    start_daemon: StartDaemon,
    wire: Wire,
) -> None:
    """Meanwhile another rack comes that the gang would fill better, and would be taken if nothing of it were placed."""
    await configure(BY_RACKS)
    own = {"e2e.volcano-py/network": namespace.name}
    pool = await simulated_nodes(SIZE + 1, cpu="1", labels=own)
    await wire({"e2e-rack-a": pool.names})
    gate = Gate(is_binding, passes=2)
    proxy.plan = gate
    daemon = await start_daemon(NO_ELECTION, server=proxy.url)
    group, *pods = gang("train", SIZE, node_selector=own)
    group["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
    await namespace.apply([group, *pods])
    await killed_half_way(cluster, namespace, gate, daemon, 2)
    gate.open()
    others = await simulated_nodes(SIZE, cpu="1", labels=own)
    await wire({"e2e-rack-b": others.names})
    await start_daemon(NO_ELECTION, server=proxy.url)
    assert {each.node for each in await namespace.wait_phases(Running=SIZE)} < set(pool.names)
    assert not bound_twice(control_plane.audit_log)
