"""The installed configuration, with preempt and reclaim added, and the commonest work there is: bare pods, Volcano Jobs
with exactly their minimum, Deployments. All of it is full gangs, so what a queue is owed comes from whole gangs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import orjson
import pytest
from click.testing import CliRunner

from e2e.conftest import Configure, SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.install import CONFIG_KEY, CONFIG_MAP_PATH
from e2e.harness.jobs import Jobs, job, task
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, deployment, pod, pod_group, queue
from volcano_py.cli.main import main

QUEUE: Final = "scheduling.volcano.sh/queue-name"

CreateQueues = Callable[..., Awaitable[None]]


@pytest.fixture
def jobs(namespace: Namespace) -> Jobs:
    return Jobs(namespace)


async def shipped_with(installed: Cluster, actions: str) -> str:
    """The installed configuration with these actions after the others."""
    shipped: str = (await installed.client.get(CONFIG_MAP_PATH))["data"][CONFIG_KEY]
    before = 'actions: "enqueue, allocate, backfill"'
    assert before in shipped, shipped
    return shipped.replace(before, f'actions: "enqueue, allocate, backfill, {actions}"')


async def list_evictions(cluster: Cluster, namespace: Namespace) -> list[tuple[str, str, str]]:
    """What `volcano-py evictions` prints: victim, action, and the pod that it went for."""
    arguments = ["evictions", "--namespace", namespace.name, "--kubeconfig", str(cluster.kubeconfig), "-o", "json"]
    result = await asyncio.to_thread(CliRunner().invoke, main, arguments)
    assert result.exit_code == 0, result.output
    return [
        (
            event["involvedObject"]["name"],
            event["action"],
            f"{event['related']['namespace']}/{event['related']['name']}",
        )
        for event in orjson.loads(result.stdout)["items"]
    ]


def work(kind: str, queue: str, selector: dict[str, str]) -> list[Object]:
    """Four pods of one CPU, none of which is surplus."""
    annotations = {QUEUE: queue}
    if kind == "bare pods":
        return [pod(f"early-{n}", annotations=annotations, node_selector=selector) for n in range(4)]
    if kind == "a Volcano Job":
        return [job("early", task("worker", 4, selector=selector), queue=queue, minAvailable=4)]
    return [deployment("early", 4, annotations=annotations, node_selector=selector)]


async def evictions(namespace: Namespace, number: int) -> dict[str, str]:
    """The messages of so many evicted pods, by Kind/name."""

    async def reported() -> dict[str, str]:
        events = await namespace.events(reason="Evict")
        found = {each.about: each.message for each in events if "Pod/" in each.about}
        assert len(found) == number, found
        return found

    return await namespace.cluster.eventually(f"{number} evictions are reported", reported)


@pytest.mark.parametrize(
    ("kind", "gone"),
    [("bare pods", 2), ("a Volcano Job", 4), ("a Deployment", 2)],
    ids=lambda value: str(value).replace(" ", "-"),
)
async def test_a_queue_gets_back_half_of_the_cluster_from_what_runs_with_its_minimum(
    kind: str,
    gone: int,
    jobs: Jobs,
    installed: Cluster,
    simulated_nodes: SimulatedNodes,
    create_queues: CreateQueues,
    configure: Configure,
    start_daemon: StartDaemon,
) -> None:
    """A Job of four goes whole for a Job of two; of bare pods, and of a Deployment, two go."""
    namespace = jobs.namespace
    await configure(await shipped_with(installed, "preempt, reclaim"))
    early, late = f"{namespace.name}-early", f"{namespace.name}-late"
    await create_queues(queue(early), queue(late))
    pool = await simulated_nodes(1, cpu="4")
    await start_daemon()
    await namespace.apply(*work(kind, early, dict(pool.selector)))
    await namespace.wait_phases(Running=4)

    await namespace.apply(job("late", task("worker", 2, selector=pool.selector), queue=late, minAvailable=2))

    await jobs.wait("late", "Running", running=2)
    evicted = await evictions(namespace, gone)
    assert all(f"in queue {early} makes room for {namespace.name}/late-" in message for message in evicted.values())
    if kind == "a Volcano Job":
        assert all(
            "the whole gang is evicted, 4 pods (minimum 4); allowed by " in message for message in evicted.values()
        ), evicted


async def test_a_pod_for_which_nothing_goes_says_why_in_its_condition(
    namespace: Namespace,
    installed: Cluster,
    simulated_nodes: SimulatedNodes,
    create_queues: CreateQueues,
    configure: Configure,
    start_daemon: StartDaemon,
) -> None:
    await configure(await shipped_with(installed, "preempt, reclaim"))
    early, late = f"{namespace.name}-early", f"{namespace.name}-late"
    await create_queues(queue(early), queue(late))
    pool = await simulated_nodes(1, cpu="4")
    await start_daemon()
    kept = {QUEUE: early, "volcano.sh/preemptable": "false"}
    await namespace.apply(*(pod(f"early-{n}", annotations=kept, node_selector=pool.selector) for n in range(4)))
    await namespace.wait_phases(Running=4)

    await namespace.apply(pod("late", annotations={QUEUE: late}, node_selector=pool.selector))

    async def reported() -> None:
        (found,) = [each for each in await namespace.pods() if each.name == "late"]
        message = found.condition("PodScheduled").get("message", "")
        assert "Reclaim finds nothing to evict: " in message, message
        assert "4 pods are protected by the annotation volcano.sh/preemptable" in message, message

    await installed.eventually("the pod says why nothing goes", reported)
    await namespace.wait_phases(Running=4, Pending=1)


async def test_of_two_gangs_that_lost_a_node_and_block_each_other_one_runs_again(
    namespace: Namespace,
    installed: Cluster,
    simulated_nodes: SimulatedNodes,
    configure: Configure,
    start_daemon: StartDaemon,
) -> None:
    """Both have the same priority and queue, so the first is complete again and the second waits."""
    await configure(await shipped_with(installed, "preempt, reclaim"))
    stays, lost = await simulated_nodes(1, cpu="4"), await simulated_nodes(1, cpu="4")
    await start_daemon()
    for name in ("first", "second"):
        await namespace.apply(
            pod_group(name, 4),
            *(pod(f"{name}-{n}", group=name, node_selector=(stays if n < 2 else lost).selector) for n in range(4)),
        )
        await namespace.wait_pod_group(name, "Running")

    await installed.delete(f"/api/v1/nodes/{lost.names[0]}")
    for name in ("first", "second"):
        for n in (2, 3):
            await namespace.delete_pod(f"{name}-{n}")
    for name in ("second", "first"):
        await namespace.apply(*(pod(f"{name}-{n}", group=name, node_selector=stays.selector) for n in (4, 5)))

    await namespace.wait_phases(Running=4, Pending=2)
    assert {each.name for each in await namespace.pods() if each.node} == {f"first-{n}" for n in (0, 1, 4, 5)}
    evicted = await evictions(namespace, 2)
    assert set(evicted) == {"Pod/second-0", "Pod/second-1"}
    assert all("both gangs are incomplete" in message for message in evicted.values()), evicted
