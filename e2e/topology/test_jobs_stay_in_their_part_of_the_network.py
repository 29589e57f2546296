"""HyperNodes on a real API server: gangs stay in a rack while the tree changes, a rack dies and the daemon restarts."""

from __future__ import annotations

from typing import Any

from e2e.conftest import Configure, SimulatedNodes, StartDaemon, Wire
from e2e.harness.daemon import QUICK_ELECTION
from e2e.harness.jobs import job, task
from e2e.harness.namespace import Namespace
from e2e.harness.networks import BY_RACKS, HYPER_NODES
from e2e.harness.objects import gang, pod
from e2e.harness.waiting import WAIT_SECONDS


def together(name: str, size: int, *, minimum: int | None = None, **of_pods: Any) -> list[dict[str, Any]]:
    """A gang that is limited to one rack."""
    group, *pods = gang(name, size, minimum=minimum, **of_pods)
    group["spec"]["networkTopology"] = {"mode": "hard", "highestTierName": "rack"}
    return [group, *pods]


async def test_a_gang_waits_for_a_rack_and_goes_there_when_the_tree_says_so(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    configure: Configure,
    start_daemon: StartDaemon,
    wire: Wire,
) -> None:
    await configure(BY_RACKS)
    daemon = await start_daemon()
    pool = await simulated_nodes(4, cpu="4")
    first, second, third, fourth = pool.names
    await wire({"e2e-rack-a": [first, second], "e2e-rack-b": [third, fourth]})
    await namespace.apply(together("train", 3, cpu="4", node_selector=pool.selector))
    await namespace.wait_reported("train-0", saying="has room for 2 of 3 pods")

    await wire({"e2e-rack-a": [first, second, third], "e2e-rack-b": [fourth]})
    running = await namespace.wait_phases(Running=3)
    assert {each.node for each in running} == {first, second, third}
    await namespace.wait_event("PlacedInHyperNode", "PodGroup/train", saying="e2e-rack-a")

    async def named() -> None:
        group = str(await namespace.pod_group("train"))
        assert "PlacedInHyperNode=True Placed: 3 pods placed in e2e-rack-a (rack, tier 1)" in group, group

    await namespace.cluster.eventually("the domain is in the status", named)
    await daemon.wait_metric("volcano_network_jobs", 1, tier="1", tier_name="rack")


async def test_pods_come_back_to_the_rack_of_their_gang_after_a_restart(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    configure: Configure,
    start_daemon: StartDaemon,
    wire: Wire,
) -> None:
    """Half of the gang runs; the daemon is killed, and another finds the rest a place in the same rack."""
    await configure(BY_RACKS)
    daemon = await start_daemon(*QUICK_ELECTION)
    pool = await simulated_nodes(4, cpu="4")
    await wire({"e2e-rack-a": pool.names[:2], "e2e-rack-b": pool.names[2:]})
    objects = together("train", 4, minimum=2, cpu="2", node_selector=pool.selector)
    await namespace.apply(objects[:3])
    running = await namespace.wait_phases(Running=2)
    of_gang = set(pool.names[:2]) if running[0].node in pool.names[:2] else set(pool.names[2:])

    await daemon.kill()
    successor = await start_daemon(*QUICK_ELECTION)
    await successor.wait_leading()
    await namespace.apply(objects[3:])
    running = await namespace.wait_phases(Running=4)
    assert {each.node for each in running} <= of_gang


async def test_an_edited_tree_moves_no_job_and_decides_where_pods_come_back(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    configure: Configure,
    start_daemon: StartDaemon,
    wire: Wire,
) -> None:
    """A node leaves the rack of a gang, then comes back; then there are no racks at all."""
    await configure(BY_RACKS)
    daemon = await start_daemon()
    pool = await simulated_nodes(4, cpu="4")
    first, second, third, fourth = pool.names
    await wire({"e2e-rack-a": [first, second], "e2e-rack-b": [third]})
    await namespace.apply(together("train", 2, cpu="4", node_selector=pool.selector))
    before = {each.name: each for each in await namespace.wait_phases(Running=2)}
    assert {each.node for each in before.values()} == {first, second}
    stays, leaves = sorted(before.values(), key=lambda each: each.node)

    await wire({"e2e-rack-a": [first], "e2e-rack-b": [second, third, fourth]})
    await namespace.recreate(pod(leaves.name, group="train", cpu="4", node_selector=pool.selector))
    await namespace.wait_reported(leaves.name, saying="its placed pods are in e2e-rack-a (rack, tier 1)")

    # Others go by the new tree meanwhile.
    await namespace.apply(together("other", 3, cpu="4", node_selector=pool.selector))
    await namespace.wait_phases(Running=4, Pending=1)
    assert {each.node for each in await namespace.pods() if each.name.startswith("other")} == {second, third, fourth}
    await namespace.delete_pod("other-0")
    await namespace.delete_pod("other-1")
    await namespace.delete_pod("other-2")
    await wire({"e2e-rack-a": [first, second], "e2e-rack-b": [third, fourth]})
    after = await namespace.wait_phases(Running=2)
    assert {each.name: each.node for each in after} == {stays.name: first, leaves.name: second}

    for name in ("e2e-rack-a", "e2e-rack-b"):
        await namespace.cluster.delete(f"{HYPER_NODES}/{name}")
    await namespace.wait_event("UnknownTier", "PodGroup/train", saying="highestTierName rack is ignored")
    at_the_end = {each.name: each.raw["metadata"]["uid"] for each in await namespace.wait_phases(Running=2)}
    assert at_the_end == {each.name: each.raw["metadata"]["uid"] for each in after}
    assert (await daemon.document("/dump"))["drift"] == 0


async def test_a_gang_whose_rack_dies_comes_back_into_one_rack(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    configure: Configure,
    start_daemon: StartDaemon,
    wire: Wire,
) -> None:
    """All nodes of a rack go, the garbage collection of Kubernetes removes the pods, the Job controller creates
    others: they are together again, and not in the rack that would be filled best by the first of them."""
    await configure(BY_RACKS)
    await start_daemon()
    pool = await simulated_nodes(3, cpu="4")
    await wire({"e2e-rack-a": pool.names})
    train = job("train", task("worker", 3, cpu="4"), minAvailable=3)
    train["spec"]["networkTopology"] = {"mode": "hard", "highestTierName": "rack"}
    await namespace.apply(train)
    running = await namespace.wait_phases(Running=3)
    assert {each.node for each in running} == set(pool.names)

    others, small = await simulated_nodes(3, cpu="4"), await simulated_nodes(1, cpu="4")
    await wire({"e2e-rack-b": others.names, "e2e-rack-c": small.names})
    for name in pool.names:
        await namespace.cluster.delete(f"/api/v1/nodes/{name}")
    gone = {each.raw["metadata"]["uid"] for each in running}

    async def back() -> None:
        pods = await namespace.pods()
        assert {each.node for each in pods} == set(others.names), pods
        assert not gone & {each.raw["metadata"]["uid"] for each in pods}

    await namespace.cluster.eventually("the gang is back in rack b", back, seconds=60 + WAIT_SECONDS)
    await namespace.wait_phases(Running=3)
