"""Remedies of `volcano-py explain`, done to a real API server by hand: each starts the job that waited."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, Protocol

import pytest_asyncio
from click.testing import CliRunner

from e2e.conftest import Configure, SimulatedNodes, StartDaemon
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, pod_group, queue
from e2e.harness.preemption import PREEMPTING, URGENT
from volcano_py.cli.main import main
from volcano_py.local.nodes import create_nodes

SHARING: Final = """
actions: "enqueue, allocate, {more}backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]
- plugins: [{{name: drf}}, {{name: predicates}}, {{name: capacity}}, {{name: nodeorder}}]
"""
TRAIN: Final = {"job": "train"}


class Offers(Protocol):
    """Waits until an explanation of the PodGroup `train` has a remedy that begins like this."""

    def __call__(self, text: str) -> Awaitable[None]: ...


@pytest_asyncio.fixture(loop_scope="session")
async def offers(namespace: Namespace) -> AsyncIterator[Offers]:
    line = ("explain", "podgroup", "train", "-n", namespace.name, "-o", "json")

    async def offered(text: str) -> None:
        kubeconfig = str(namespace.cluster.kubeconfig)

        async def found() -> None:
            result = await asyncio.to_thread(CliRunner().invoke, main, (*line, "--kubeconfig", kubeconfig))
            assert result.exit_code == 0, result.output
            explained = json.loads(result.stdout)
            assert any(each["text"].startswith(text) for each in explained["remedies"]), explained

        await namespace.cluster.eventually(f"a remedy: {text}", found)

    yield offered


async def test_pods_that_ask_for_less(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon, offers: Offers
) -> None:
    pool = await simulated_nodes(2, cpu="4")
    await namespace.apply(gang("train", 4, cpu="3", node_selector=pool.selector))
    await namespace.wait_reported("train-3", saying="Insufficient cpu")
    await offers("ask for less: 2 cpu for each pod instead of 3 cpu")
    await namespace.recreate(*gang("train", 4, cpu="2", node_selector=pool.selector))
    await namespace.wait_phases(Running=4)


async def test_fewer_pods(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon, offers: Offers
) -> None:
    pool = await simulated_nodes(2, cpu="4")
    await namespace.apply(gang("train", 4, cpu="3", node_selector=pool.selector))
    await namespace.wait_reported("train-3", saying="Insufficient cpu")
    await offers("start with fewer pods: lower minMember of ")
    await namespace.apply(pod_group("train", 2))
    await namespace.wait_phases(Running=2, Pending=2)


async def test_a_selector_that_is_dropped(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon, offers: Offers
) -> None:
    pool = await simulated_nodes(1, cpu="4")
    await namespace.apply(gang("train", 2, node_selector={**pool.selector, "disk": "ssd"}))
    await namespace.wait_reported("train-1", saying="nodeSelector")
    await offers("drop the nodeSelector disk=ssd")
    await namespace.recreate(*gang("train", 2, node_selector=pool.selector))
    await namespace.wait_phases(Running=2)


async def test_another_node(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon, offers: Offers
) -> None:
    pool = await simulated_nodes(1, cpu="4")
    [name] = pool.names
    await namespace.apply(gang("train", 2, cpu="3", node_selector=pool.selector))
    await namespace.wait_reported("train-1", saying="Insufficient cpu")
    await offers("add 1 node like ")
    client = namespace.cluster.client
    size = (await client.get(f"/api/v1/nodes/{name}"))["status"]["allocatable"]
    [more] = await create_nodes(client, 1, allocatable=size, labels=pool.selector, name_format=f"{name}-more-{{}}")
    try:
        await namespace.wait_phases(Running=2)
    finally:
        await namespace.cluster.delete(f"/api/v1/nodes/{more}")


async def test_a_higher_priority(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    configure: Configure,
    start_daemon: StartDaemon,
    offers: Offers,
) -> None:
    await configure(PREEMPTING)
    await start_daemon()
    pool = await simulated_nodes(1, cpu="4")
    await namespace.cluster.apply([URGENT])
    await namespace.apply(gang("old", 4, minimum=1, node_selector=pool.selector))
    await namespace.wait_phases(Running=4)
    await namespace.apply(gang("train", 2, node_selector=pool.selector, labels=TRAIN))
    await namespace.wait_reported("train-1", saying="Insufficient cpu")
    await offers("give it a PriorityClass of ")
    _, *pods = gang("train", 2, priority_class="e2e-urgent", node_selector=pool.selector, labels=TRAIN)
    await namespace.recreate(pod_group("train", 2, priority_class="e2e-urgent"), *pods)
    await namespace.wait_phases(selector="job=train", Running=2)


async def test_reclaim_that_is_switched_on(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    configure: Configure,
    start_daemon: StartDaemon,
    offers: Offers,
) -> None:
    await configure(SHARING.format(more=""))
    await start_daemon()
    pool = await simulated_nodes(1, cpu="8")
    early, late = f"{namespace.name}-early", f"{namespace.name}-late"
    await create_queues(queue(early, deserved={"cpu": "4"}), queue(late, deserved={"cpu": "4"}))
    await namespace.apply(gang("old", 8, minimum=1, queue=early, node_selector=pool.selector))
    await namespace.wait_phases(Running=8)
    await namespace.apply(gang("train", 2, queue=late, cpu="2", node_selector=pool.selector, labels=TRAIN))
    await namespace.wait_reported("train-1", saying="Insufficient cpu")
    await offers("add the action reclaim to the scheduler's configuration")
    await configure(SHARING.format(more="reclaim, "))
    await namespace.wait_phases(selector="job=train", Running=2)
