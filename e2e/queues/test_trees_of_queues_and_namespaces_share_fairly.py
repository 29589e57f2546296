"""HDRF between queues, and namespaces within one, on a real API server."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, queue

HDRF = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: drf
    enableHierarchy: true
  - name: predicates
  - name: nodeorder
"""

NAMESPACES = HDRF.replace("enableHierarchy", "enableNamespaceOrder")


def placed_queue(name: str, path: str, weights: str) -> dict[str, Any]:
    made = queue(name)
    made["metadata"]["annotations"] = {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}
    return made


async def wait_counts(cluster: Cluster, namespaces: list[Namespace], expected: dict[str, int]) -> None:
    """Pods that have a node, by job (and namespace, where there are several)."""

    async def reached() -> None:
        held: Counter[str] = Counter()
        for namespace in namespaces:
            held.update(each.name.rpartition("-")[0] for each in await namespace.pods() if each.node)
        assert held == Counter(expected), held

    await cluster.eventually(f"nodes for {expected}", reached)


async def test_queues_in_a_tree_get_their_part_at_every_level(
    installed: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    configure: Callable[[str], Awaitable[None]],
    start_daemon: StartDaemon,
) -> None:
    """12 CPUs: eng 8 and sci 4 (2 to 1); of eng's, dev 2 and prod 6 (1 to 3). A queue below sci is to be closed."""
    await configure(HDRF)
    mark = secrets.token_hex(3)
    dev, prod, sci, lost = (f"{name}-{mark}" for name in ("dev", "prod", "sci", "lost"))
    await create_queues(
        placed_queue(dev, "root/eng/dev", "1/2/1"),
        placed_queue(prod, "root/eng/prod", "1/2/3"),
        placed_queue(sci, "root/sci", "1/1"),
    )
    pool = {"e2e.volcano-py/share": mark}
    for name, of_queue in (("dev", dev), ("prod", prod), ("sci", sci)):
        await namespace.apply(gang(name, 12, minimum=1, queue=of_queue, node_selector=pool))
    await start_daemon()
    await namespace.wait_event("Unschedulable", "PodGroup/sci")
    await simulated_nodes(1, cpu="12", labels=pool)
    await wait_counts(installed, [namespace], {"dev": 2, "prod": 6, "sci": 4})

    await create_queues(placed_queue(lost, "root/sci/lost", "1/1/1"))
    await namespace.apply(gang("lost", 1, queue=lost, node_selector=pool))
    reported = f"leads through root/sci, the path of queue {sci}"
    await namespace.wait_event("Unschedulable", "PodGroup/lost", saying=reported)


async def test_namespaces_of_a_queue_share_by_the_weight_in_their_quota(
    installed: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    configure: Callable[[str], Awaitable[None]],
    start_daemon: StartDaemon,
) -> None:
    """8 CPUs of the default queue: 6 for the namespace of weight 3, and 2 for the one without a quota."""
    await configure(NAMESPACES)
    pool = {"e2e.volcano-py/share": secrets.token_hex(3)}
    other = Namespace(installed, f"{namespace.name}-light")
    await other.create()
    try:
        quota = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "weight"},
            "spec": {"hard": {"volcano.sh/namespace.weight": "3"}},
        }
        await namespace.apply(quota, gang("heavy", 8, minimum=1, node_selector=pool))
        await other.apply(gang("light", 8, minimum=1, node_selector=pool))
        await start_daemon()
        await namespace.wait_event("Unschedulable", "PodGroup/heavy")
        await other.wait_event("Unschedulable", "PodGroup/light")
        await simulated_nodes(1, cpu="8", labels=pool)
        await wait_counts(installed, [namespace, other], {"heavy": 6, "light": 2})
    finally:
        await other.remove()
