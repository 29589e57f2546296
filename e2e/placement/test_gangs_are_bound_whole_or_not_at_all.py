"""Gangs on a real API server, scheduled by the daemon as its own ServiceAccount with the shipped rights."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, pod, pod_group, queue


async def test_a_gang_that_fits_runs(namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon) -> None:
    """All pods run, the PodGroup says so, and each pod has its Scheduled event."""
    pool = await simulated_nodes(2, cpu="4")
    await namespace.apply(gang("train", 4, cpu="2", node_selector=pool.selector))

    pods = await namespace.wait_phases(Running=4)
    assert {each.node for each in pods} == set(pool.names)
    await namespace.wait_pod_group("train", "Running")

    async def scheduled() -> None:
        group = await namespace.pod_group("train")
        assert group.condition("Scheduled").get("reason") == "tasks in gang are ready to be scheduled", str(group)

    await namespace.cluster.eventually("the PodGroup's condition", scheduled)
    await namespace.wait_event("Scheduled", "Pod/train-0")
    await namespace.wait_event("Scheduled", "PodGroup/train")


async def test_a_gang_that_does_not_fit_waits_whole_with_a_reason(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """Two of three pods would fit; none is bound, and the reason has the figures."""
    pool = await simulated_nodes(1, cpu="4")
    await namespace.apply(gang("train", 3, cpu="2", node_selector=pool.selector))

    await namespace.wait_event("Unschedulable", "PodGroup/train", saying="Insufficient cpu")

    async def reported() -> None:
        reasons = sorted(each.condition("PodScheduled").get("reason", "") for each in await namespace.pods())
        assert reasons == ["Schedulable", "Schedulable", "Unschedulable"], reasons

    await namespace.cluster.eventually("reasons on the pods", reported)
    assert not any(each.node for each in await namespace.pods())


async def test_a_waiting_gang_runs_as_soon_as_a_node_comes(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """Nothing has to be resubmitted."""
    await namespace.apply(gang("train", 2, cpu="2", tolerations=[{"operator": "Exists", "key": "late"}]))
    await namespace.wait_pod_group("train", "Inqueue")

    await simulated_nodes(1, cpu="4", taints=[{"key": "late", "value": "yes", "effect": "NoSchedule"}])

    await namespace.wait_phases(Running=2)


async def test_a_gang_whose_pods_are_missing_says_so(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """minMember above the number of pods is the gang's own problem; others go on."""
    pool = await simulated_nodes(1, cpu="4")
    await namespace.apply(pod_group("short", 3), pod("short-0", group="short", node_selector=pool.selector))
    await namespace.apply(gang("fine", 1, node_selector=pool.selector))

    await namespace.wait_phases(Running=1, Pending=1)
    await namespace.wait_event("Unschedulable", "PodGroup/short", saying="NotEnoughTasks:")

    async def reported() -> None:
        group = await namespace.pod_group("short")
        assert group.condition("Unschedulable").get("reason") == "NotEnoughTasks", str(group)

    await namespace.cluster.eventually("the PodGroup's condition", reported)


async def test_queues_share_by_weight(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    start_daemon: Callable[..., Awaitable[Daemon]],
) -> None:
    """Two queues of weights 3 and 1 want all of 8 CPUs, with the jobs there before the scheduler is."""
    heavy, light = f"{namespace.name}-heavy", f"{namespace.name}-light"
    pool = await simulated_nodes(2, cpu="4")
    await create_queues(queue(heavy, weight=3), queue(light, weight=1))
    for number in range(8):
        await namespace.apply(gang(f"h{number}", 1, queue=heavy, node_selector=pool.selector, labels={"of": "heavy"}))
        await namespace.apply(gang(f"l{number}", 1, queue=light, node_selector=pool.selector, labels={"of": "light"}))

    await start_daemon()

    await namespace.wait_phases(selector="of=heavy", Running=6, Pending=2)
    for each in await namespace.wait_phases(selector="of=light", Running=2, Pending=6):
        if not each.node:
            await namespace.wait_reported(each.name, reason="Undetermined")


async def test_a_pod_of_a_missing_queue_is_reported_and_runs_once_the_queue_exists(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    daemon: Daemon,
) -> None:
    """A typing error in a queue's name is visible, and fixed without resubmitting."""
    name = f"{namespace.name}-later"
    pool = await simulated_nodes(1, cpu="4")
    await namespace.apply(gang("train", 1, queue=name, node_selector=pool.selector))
    await namespace.wait_event("Unschedulable", "PodGroup/train", saying=f"QueueNotFound: queue {name} does not exist")

    await create_queues(queue(name))

    await namespace.wait_phases(Running=1)
