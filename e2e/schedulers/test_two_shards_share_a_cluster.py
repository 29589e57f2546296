"""Two daemons with a shard each on one API server: own nodes, own queues, and nodes that move between them.

Each has the Lease of its shard and no controllers; a third one runs those. KWOK accepts whatever is bound, so a node
that is over-committed stays visible.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from e2e.conftest import NodePool, SimulatedNodes, StartDaemon
from e2e.faults.invariants.cluster import bound_twice
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import QUICK_ELECTION, Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, pod, queue
from volcano_py.api.shards.node_shards import SHARD_API, SHARD_OF_QUEUE
from volcano_py.local.client import APIError
from volcano_py.local.controlplane import ControlPlane

EXAMPLE = Path(__file__).parents[2] / "examples" / "shards"
_SHARDS = f"/apis/{SHARD_API}/nodeshards"
SHARDS = ("a", "b")
_CPUS = 4


class Shards:
    """The NodeShards `a` and `b`, and a queue for each."""

    def __init__(self, cluster: Cluster, queues: dict[str, str]) -> None:
        self._cluster, self.queues = cluster, queues

    async def desire(self, **nodes: tuple[str, ...]) -> None:
        for name, wanted in nodes.items():
            shard = {"apiVersion": SHARD_API, "kind": "NodeShard", "metadata": {"name": name}}
            await self._cluster.apply([{**shard, "spec": {"nodesDesired": list(wanted)}}])

    async def wait_in_use(self, name: str, *nodes: str) -> None:
        async def says() -> None:
            status = (await self._cluster.client.get(f"{_SHARDS}/{name}")).get("status", {})
            assert sorted(status.get("nodesInUse", [])) == sorted(nodes), status
            assert not status.get("nodesToAdd"), status
            assert not status.get("nodesToRemove"), status

        await self._cluster.eventually(f"shard {name} uses {nodes}", says)


@pytest_asyncio.fixture(loop_scope="session")
async def shards(installed: Cluster, create_queues: Callable[..., Awaitable[None]]) -> AsyncIterator[Shards]:
    queues = {name: f"e2e-{secrets.token_hex(3)}-{name}" for name in SHARDS}
    for shard, name in queues.items():
        body = queue(name)
        body["metadata"]["annotations"] = {SHARD_OF_QUEUE: shard}
        await create_queues(body)
    await installed.apply((EXAMPLE / "leases.yaml").read_text(encoding="utf-8"))
    yield Shards(installed, queues)
    for name in SHARDS:
        await installed.delete(f"{_SHARDS}/{name}")
        await installed.delete(f"/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases/volcano-{name}")


@pytest.fixture
def start_shard(start_daemon: StartDaemon) -> Callable[[str], Awaitable[Daemon]]:
    def start(name: str) -> Awaitable[Daemon]:
        return start_daemon(
            "--scheduler-sharding-mode=hard", f"--scheduler-sharding-name={name}", "--controllers=none", *QUICK_ELECTION
        )

    return start


async def _controllers(start_daemon: StartDaemon) -> None:
    await start_daemon("--scheduling=false", "--leader-elect=false")


async def _used(namespace: Namespace) -> Counter[str]:
    """CPUs that pods ask for, by node."""
    used: Counter[str] = Counter()
    for each in await namespace.pods():
        if each.node and each.phase != "Terminating":
            used[each.node] += int(each.spec["containers"][0]["resources"]["requests"]["cpu"])
    return used


async def test_each_daemon_places_the_pods_of_its_queues_on_its_nodes(
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    shards: Shards,
    start_daemon: StartDaemon,
    start_shard: Callable[[str], Awaitable[Daemon]],
) -> None:
    """A gang larger than its shard waits, and its reason names the shard; the other shard's room is not for it."""
    pool = await simulated_nodes(4, cpu=str(_CPUS))
    own = {"a": pool.names[:2], "b": pool.names[2:]}
    await shards.desire(**own)
    await _controllers(start_daemon)
    daemons = {name: await start_shard(name) for name in SHARDS}
    for name in SHARDS:
        await shards.wait_in_use(name, *own[name])
        await namespace.apply(gang(f"fits-{name}", 6, queue=shards.queues[name]))
    await namespace.apply(gang("large", 3, queue=shards.queues["a"]))
    for name in SHARDS:
        await namespace.wait_pod_group(f"fits-{name}", "Running")
    pods = await namespace.wait_phases(Running=12, Pending=3)
    for each in pods:
        if each.node:
            assert each.node in own[each.name.split("-")[1]]

    async def names_the_shard() -> None:
        waiting = next(each for each in await namespace.pods() if each.name == "large-0")
        assert "nodes of shard a are unavailable" in str(waiting.condition("PodScheduled").get("message", "")), str(
            waiting
        )

    await namespace.cluster.eventually("the reason names the shard", names_the_shard)
    for name, daemon in daemons.items():
        assert await daemon.metric("volcano_binds_total", outcome="done") == 6, name
    await shards.desire(b=pool.names[3:])  # its pods stay where they are
    await shards.wait_in_use("b", *pool.names[3:])
    await shards.desire(a=pool.names[:3])
    await shards.wait_in_use("a", *pool.names[:3])
    used = await _used(namespace)
    if used[pool.names[2]] <= _CPUS - 1:
        await namespace.wait_pod_group("large", "Running")
    assert all(cpus <= _CPUS for cpus in (await _used(namespace)).values())
    assert not await asyncio.to_thread(bound_twice, control_plane.audit_log)


async def test_nodes_move_under_load_and_while_a_daemon_restarts(
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    shards: Shards,
    start_daemon: StartDaemon,
    start_shard: Callable[[str], Awaitable[Daemon]],
) -> None:
    pool: NodePool = await simulated_nodes(6, cpu=str(_CPUS))
    low, high = pool.names[:3], pool.names[3:]
    await shards.desire(a=low, b=high)
    await _controllers(start_daemon)
    daemons = {name: await start_shard(name) for name in SHARDS}
    rounds = 0

    async def add_work() -> None:
        """More for each shard than it has room for, one pod a turn, so that something is always being bound."""
        nonlocal rounds
        while True:
            for name in SHARDS:
                await namespace.apply(_single(f"w{rounds}-{name}", shards.queues[name]))
            rounds += 1
            await asyncio.sleep(0.05)

    work = asyncio.create_task(add_work())
    try:
        for number, (first, second) in enumerate(
            (((*low, high[0]), high[1:]), (low[1:], (*high, low[0])), (low, high))
        ):
            await shards.desire(a=first, b=second)
            if number == 1:
                await daemons["a"].kill()
                daemons["a"] = await start_shard("a")
            await shards.wait_in_use("a", *first)
            await shards.wait_in_use("b", *second)
            over = {node: cpus for node, cpus in (await _used(namespace)).items() if cpus > _CPUS}
            assert not over
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    async def full() -> None:
        used = await _used(namespace)
        assert used == dict.fromkeys(pool.names, _CPUS), used

    for name in SHARDS:  # enough that all nodes can be filled by whichever shard has them
        await namespace.apply(*(_single(f"last{number}-{name}", shards.queues[name]) for number in range(3 * _CPUS)))
    await namespace.cluster.eventually("every node is full, and none beyond its room", full)
    assert not await asyncio.to_thread(bound_twice, control_plane.audit_log)


def _single(name: str, of_queue: str) -> dict[str, Any]:
    return pod(name, annotations={"scheduling.volcano.sh/queue-name": of_queue})


async def test_the_api_server_checks_the_names_of_nodes(installed: Cluster) -> None:
    shard = {"apiVersion": SHARD_API, "kind": "NodeShard", "metadata": {"name": "e2e-checked"}}
    with pytest.raises(APIError, match="not the name of a node"):
        await installed.client.create(_SHARDS, {**shard, "spec": {"nodesDesired": ["Node/1"]}})
