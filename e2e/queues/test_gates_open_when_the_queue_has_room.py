"""Volcano's scheduling gate on a real API server: set by the policy of the overlay, taken off by the scheduler."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest_asyncio

from e2e.conftest import SimulatedNodes
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod, pod_group, queue
from volcano_py.shipped import shipped

GATE = "scheduling.volcano.sh/queue-allocation-gate"
OVERLAY = shipped("manifests") / "overlays" / "queue-gates"
WITH_CEILINGS = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: capacity
"""


@pytest_asyncio.fixture(loop_scope="session")
async def policy(installed: Cluster, namespace: Namespace) -> AsyncIterator[None]:
    """The overlay's policy, in force."""
    await installed.kubectl("apply", "-k", str(OVERLAY))

    async def in_force() -> None:
        probe = pod("probe", annotations={GATE: "true"})
        made = await installed.client.create(f"/api/v1/namespaces/{namespace.name}/pods?dryRun=All", probe)
        assert made["spec"].get("schedulingGates") == [{"name": GATE}], made["spec"]

    await installed.eventually("pods with the annotation get the gate", in_force)
    yield
    await installed.kubectl("delete", "-k", str(OVERLAY))


async def test_pods_keep_the_gate_until_their_queue_has_room(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    daemon: Daemon,
    configure: Callable[[str], Awaitable[None]],
    create_queues: Callable[..., Awaitable[None]],
    policy: None,
) -> None:
    """Autoscalers look at the condition PodScheduled: for a gated pod its reason is SchedulingGated."""
    pool = await simulated_nodes(1, cpu="8")
    await configure(WITH_CEILINGS)
    team = f"team-{namespace.name}"
    await create_queues(queue(team, capability={"cpu": "2"}))
    asked = {GATE: "true"}
    pods = [pod(f"work-{n}", annotations=asked, node_selector=pool.selector, group="work") for n in range(3)]
    await namespace.apply(pod_group("work", 1, queue=team), pods)

    found = await namespace.wait_phases(Running=2, Pending=1)
    (kept,) = [each for each in found if each.phase == "Pending"]
    assert kept.spec["schedulingGates"] == [{"name": GATE}]
    assert kept.condition("PodScheduled")["reason"] == "SchedulingGated"

    gone = next(each.name for each in found if each.phase == "Running")
    await namespace.delete_pod(gone)

    async def opened() -> None:
        (last,) = [each for each in await namespace.pods() if each.name == kept.name]
        assert last.phase == "Running", last
        assert not last.spec.get("schedulingGates")

    await namespace.cluster.eventually("the last pod loses its gate and runs", opened)
