"""Volcano Jobs in partitions on a real API server: each partition is in one rack, and comes back to it."""

from __future__ import annotations

from collections import defaultdict

from e2e.conftest import Configure, SimulatedNodes, StartDaemon, Wire
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import QUICK_ELECTION
from e2e.harness.jobs import job, task
from e2e.harness.namespace import Namespace
from e2e.harness.networks import BY_RACKS

HARD = {"mode": "hard", "highestTierName": "rack"}


async def test_each_partition_of_a_job_is_in_one_rack_and_its_pods_come_back_there_also_after_a_restart(
    namespace: Namespace,
    cluster: Cluster,
    simulated_nodes: SimulatedNodes,
    configure: Configure,
    start_daemon: StartDaemon,
    wire: Wire,
) -> None:
    """Racks of two nodes hold one partition of two pods each. The third partition waits, and has no use for the single
    node that is free until the deleted pod is created again."""
    await configure(BY_RACKS)
    daemon = await start_daemon(*QUICK_ELECTION)
    pool = await simulated_nodes(4, cpu="4")
    racks = {"e2e-parts-a": pool.names[:2], "e2e-parts-b": pool.names[2:]}
    rack_of = {node: name for name, nodes in racks.items() for node in nodes}
    await wire(racks)
    policy = {"totalPartitions": 3, "partitionSize": 2, "minPartitions": 2, "networkTopology": HARD}
    worker = task("worker", 6, cpu="4", selector=pool.selector, partitionPolicy=policy)
    await namespace.apply([job("train", worker)])
    placed = [pod for pod in await namespace.wait_phases(Running=4, Pending=2) if pod.node]
    of_partition: defaultdict[int, set[str]] = defaultdict(set)
    for pod in placed:
        of_partition[int(pod.name.rpartition("-")[2]) // 2].add(rack_of[pod.node])
    assert sorted(of_partition) == [0, 1], of_partition
    assert sorted(map(sorted, of_partition.values())) == [["e2e-parts-a"], ["e2e-parts-b"]], of_partition
    group = placed[0].raw["metadata"]["annotations"]["scheduling.k8s.io/group-name"]
    await namespace.wait_event("PlacedInHyperNode", f"PodGroup/{group}", saying="sub-group worker 1 in e2e-parts-")
    await namespace.wait_reported("train-worker-4", saying="sub-group worker 2: rack, tier 1: e2e-parts-")

    before = next(pod for pod in placed if pod.name == "train-worker-3")

    async def is_back() -> None:
        (now,) = [pod for pod in await namespace.pods() if pod.name == before.name]
        assert now.raw["metadata"]["uid"] != before.raw["metadata"]["uid"], str(now)
        assert (now.phase, rack_of.get(now.node)) == ("Running", rack_of[before.node]), str(now)

    path = f"/api/v1/namespaces/{namespace.name}/pods/{before.name}"
    await cluster.delete(path)
    await cluster.eventually("the pod is back in the rack of its partition", is_back)

    await daemon.kill()
    (before,) = [pod for pod in await namespace.pods() if pod.name == before.name]
    await cluster.delete(path)
    successor = await start_daemon(*QUICK_ELECTION)
    await successor.wait_leading()
    await cluster.eventually("the pod is back there after a restart, too", is_back)
