"""HyperNodes in a cluster with Volcano's CRD for them: they are read, and their statuses are written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest_asyncio

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.injection.loosened import shipped_crds
from e2e.faults.injection.volcano_crd import volcano_crd
from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.networks import HYPER_NODES, exact, hyper_node, rack, regex
from e2e.harness.objects import gang
from volcano_py.local.install import apply_crds

NETWORK = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: nodeorder}, {name: network-topology-aware}]
"""


@pytest_asyncio.fixture(loop_scope="session")
async def of_volcano(installed: Cluster) -> AsyncIterator[Cluster]:
    """The cluster with Volcano's CRD of HyperNodes; ours comes back after the test, for which no HyperNode is left."""
    crd = volcano_crd()
    await replace(installed, crd)
    yield installed
    await installed.client.delete(HYPER_NODES)
    (ours,) = (each for each in shipped_crds() if each["metadata"]["name"] == crd["metadata"]["name"])
    await replace(installed, ours)


async def replace(cluster: Cluster, crd: dict[str, object]) -> None:
    """Delete the CRD that is there, and create this one: what an apply leaves of the old one is none of the new."""
    await cluster.kubectl("delete", "crd", "hypernodes.topology.volcano.sh", "--wait")
    await apply_crds(cluster.kubectl, [crd])


async def test_jobs_are_kept_together_and_statuses_are_written(
    of_volcano: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    configure: Callable[[str], Awaitable[None]],
    start_daemon: StartDaemon,
) -> None:
    await configure(NETWORK)
    pool = await simulated_nodes(4, cpu="4")
    spine = hyper_node(
        "e2e-spine", exact("e2e-rack-a", "HyperNode"), exact("e2e-rack-b", "HyperNode"), tier=2, tierName="spine"
    )
    empty = hyper_node("e2e-empty", tier=1)
    del empty["spec"]["members"]  # which our CRD requires
    unselective = hyper_node("e2e-unselective", {"type": "Node"}, regex("("))
    await of_volcano.apply([rack("e2e-rack-a", pool.names[:2]), rack("e2e-rack-b", pool.names[2:])])
    await of_volcano.apply([spine, empty, unselective])
    await start_daemon()

    async def counted() -> None:
        items = (await of_volcano.client.get(HYPER_NODES))["items"]
        found = {
            each["metadata"]["name"]: (each["status"]["nodeCount"], each["status"]["conditions"][0]["reason"])
            for each in items
        }
        assert found == {
            "e2e-rack-a": (2, "Valid"),
            "e2e-rack-b": (2, "Valid"),
            "e2e-spine": (4, "Valid"),
            "e2e-empty": (0, "Valid"),
            "e2e-unselective": (0, "InvalidMember"),
        }

    await of_volcano.eventually("statuses of all HyperNodes", counted)
    group, *pods = gang("train", 2, cpu="4", node_selector=pool.selector)
    group["spec"]["networkTopology"] = {"highestTierName": "rack"}
    await namespace.apply([group, *pods])
    used = {each.node for each in await namespace.wait_phases(Running=2)}
    assert used in ({*pool.names[:2]}, {*pool.names[2:]})
    group, *pods = gang("wide", 3, cpu="4", node_selector=pool.selector)
    group["spec"]["networkTopology"] = {"highestTierName": "rack"}
    await namespace.apply([group, *pods])
    await namespace.wait_reported("wide-0", saying="not allowed by networkTopology: spine, tier 2")
