"""preempt and reclaim on a real API server: budgets, cool-down, promised places, and why each pod was evicted."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from e2e.conftest import Configure, SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, gang, pod, pod_group, queue

PROTECTING = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins:
  - name: priority
  - name: conformance
  - name: pdb
  - name: cdp
- plugins:
  - name: predicates
  - name: nodeorder
"""

HDRF = """
actions: "enqueue, allocate, reclaim"
tiers:
- plugins:
  - name: priority
  - name: drf
    enableHierarchy: true
  - name: predicates
"""

NAMESPACES = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins:
  - name: priority
    enablePreemptable: false
  - name: drf
    enableNamespaceOrder: true
  - name: predicates
"""

CreateQueues = Callable[..., Awaitable[None]]

FINALIZER = "e2e.volcano-py/stay"


async def wait_running(namespace: Namespace, expected: set[str]) -> None:
    """Wait until exactly these pods run."""

    async def reached() -> None:
        running = {each.name for each in await namespace.pods() if each.phase == "Running"}
        assert running == expected, running

    await namespace.cluster.eventually(f"{sorted(expected)} run", reached)


async def test_the_unprotected_pod_is_evicted_and_its_place_is_kept_until_it_is_gone(
    installed: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    configure: Configure,
    start_daemon: StartDaemon,
) -> None:
    """Three pods of low priority fill a node: one has a budget, one has just begun, and the third is evicted.

    A finalizer keeps the victim for as long as we look. A second urgent pod finds no possible victim.
    """
    urgent: Object = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "e2e-urgent"},
        "value": 1000,
    }
    await installed.apply([urgent])
    await configure(PROTECTING)
    pool = await simulated_nodes(1, cpu="3")
    budget: Object = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guarded"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}},
    }
    labels: dict[str, dict[str, str]] = {
        "guarded": {"app": "guarded"},
        "cooling": {"app": "cooling", "volcano.sh/cooldown-time": "1h"},
        "plain": {"app": "plain"},
    }
    await namespace.apply(budget)
    for name, of_pod in labels.items():
        made = pod(f"{name}-0", group=name, labels=of_pod, node_selector=pool.selector)
        if name == "plain":
            made["metadata"]["finalizers"] = [FINALIZER]
        await namespace.apply(pod_group(name, 1), made)
    await start_daemon()
    await wait_running(namespace, {"guarded-0", "cooling-0", "plain-0"})

    async def counted() -> None:
        found = await installed.client.get(f"/apis/policy/v1/namespaces/{namespace.name}/poddisruptionbudgets/guarded")
        status = found.get("status", {})
        assert (status.get("currentHealthy"), status.get("disruptionsAllowed")) == (1, 0), status

    await installed.eventually("the budget counts its pod", counted)

    for name in ("first", "second"):
        await namespace.apply(
            pod_group(name, 1, priority_class="e2e-urgent"),
            pod(f"{name}-0", group=name, priority_class="e2e-urgent", node_selector=pool.selector),
        )
        if name == "first":
            await promised(namespace, "first-0", pool.names[0])
    reported = await namespace.wait_event(
        "Evict",
        "Pod/plain-0",
        saying=f"{namespace.name}/plain-0 (priority 0) makes room for {namespace.name}/first-0 (priority 1000)",
    )
    assert "preempt" in reported.message, reported.message

    # The second is looked at while the victim is still there: it is reported, and takes neither the place nor a victim.
    await namespace.wait_event("Unschedulable", "PodGroup/second")
    patch = {"metadata": {"finalizers": None}}
    await installed.client.merge_patch(f"/api/v1/namespaces/{namespace.name}/pods/plain-0", patch)
    await wait_running(namespace, {"guarded-0", "cooling-0", "first-0"})
    evicted = {each.about for each in await namespace.events(reason="Evict") if each.about.startswith("Pod/")}
    assert evicted == {"Pod/plain-0"}


async def promised(namespace: Namespace, name: str, node: str) -> None:
    """Wait until the pod has a place for later on the node."""

    async def reported() -> None:
        (found,) = [each for each in await namespace.pods() if each.name == name]
        assert found.status.get("nominatedNodeName") == node, str(found)
        assert not found.node, str(found)

    await namespace.cluster.eventually(f"{name} is nominated for {node}", reported)


async def test_queues_of_a_tree_reclaim_up_to_the_tie_and_no_further(
    installed: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: CreateQueues,
    configure: Configure,
    start_daemon: StartDaemon,
) -> None:
    """8 CPUs are one queue's. Four go to the other, so that both have the same; the fifth would take it beyond."""
    await configure(HDRF)
    mark = secrets.token_hex(3)
    have, want = f"have-{mark}", f"want-{mark}"
    await create_queues(placed(have, f"root/x-{mark}/have"), placed(want, f"root/y-{mark}"))
    pool = await simulated_nodes(1, cpu="8")
    await start_daemon()
    await namespace.apply(gang("have", 8, minimum=1, queue=have, node_selector=pool.selector, labels={"q": "have"}))
    await namespace.wait_phases(Running=8)

    for number in range(5):
        await namespace.apply(gang(f"want{number}", 1, queue=want, node_selector=pool.selector, labels={"q": "want"}))

    await namespace.wait_phases(selector="q=want", Running=4, Pending=1)
    await namespace.wait_phases(selector="q=have", Running=4)

    async def reported() -> None:
        events = [each for each in await namespace.events(reason="Evict") if each.about.startswith("Pod/have-")]
        assert len({each.about for each in events}) == 4, events
        for each in events:
            assert "reclaim" in each.message, each.message
            assert f"{namespace.name}/want" in each.message, each.message
            assert {have, want} <= set(each.message.replace(",", " ").replace(")", " ").split()), each.message

    await installed.eventually("four say for which job, and of which queue", reported)


def placed(name: str, path: str) -> dict[str, Any]:
    made = queue(name)
    weights = "/".join("1" for _ in path.split("/"))
    made["metadata"]["annotations"] = {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}
    return made


async def test_a_namespace_preempts_in_its_queue_what_it_is_due(
    installed: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    configure: Configure,
    start_daemon: StartDaemon,
) -> None:
    """4 CPUs of a queue are one namespace's; with equal weights the other gets two of them."""
    await configure(NAMESPACES)
    pool = await simulated_nodes(1, cpu="4")
    other = Namespace(installed, f"{namespace.name}-late")
    await other.create()
    try:
        await start_daemon()
        await namespace.apply(gang("early", 4, minimum=1, node_selector=pool.selector))
        await namespace.wait_phases(Running=4)
        for number in range(4):
            await other.apply(gang(f"late{number}", 1, node_selector=pool.selector))
        await other.wait_phases(Running=2, Pending=2)
        await namespace.wait_phases(Running=2)

        async def reported() -> None:
            events = [each for each in await namespace.events(reason="Evict") if each.about.startswith("Pod/")]
            assert len({each.about for each in events}) == 2, events
            assert all(f"makes room for {other.name}/late" in each.message for each in events), events

        await installed.eventually("two say for which job", reported)
    finally:
        await other.remove()
