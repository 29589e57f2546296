"""Two schedulers with a shard each over one API server, with nodes that move between them at any moment.

Both run the real keeper of their NodeShard and real cycles; their pictures lag, and either may be killed. After every
binding the store checks that the pod had no node, and that the node has room.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.shared_store import ShardDaemon, Store, queue, single_pod

NODES = {f"n{number}": 4 for number in range(4)}
SHARDS = ("a", "b")
# What the sharding controller wants for each node: one shard, the other, both by mistake, or none.
PLACES = st.lists(st.sampled_from(["a", "b", "ab", ""]), min_size=len(NODES), max_size=len(NODES))
MOVES = st.lists(st.one_of(PLACES, st.sampled_from(["kill a", "kill b"])), max_size=5)
PODS = st.lists(st.tuples(st.sampled_from(SHARDS), st.integers(1, 3)), min_size=1, max_size=12)
_ENOUGH = 1000
"""Turns in which nothing happens any more."""


def desired(places: list[str]) -> dict[str, list[str]]:
    return {name: [node for node, place in zip(NODES, places, strict=True) if name in place] for name in SHARDS}


@settings(max_examples=100)
@given(
    seed=st.integers(0, 2**32),
    pods=PODS,
    first=PLACES,
    moves=MOVES,
    last=st.lists(st.sampled_from(SHARDS), min_size=4, max_size=4),
)
def test_no_pod_is_bound_twice_and_no_node_is_filled_beyond_its_room(
    seed: int, pods: list[tuple[str, int]], first: list[str], moves: list[list[str] | str], last: list[str]
) -> None:
    """And at the end, when the nodes stay where they are, every pod that still waits fits on no node of its shard."""
    asyncio.run(_play(Random(seed), pods, first, moves, last))


async def _play(
    random: Random, pods: list[tuple[str, int]], first: list[str], moves: list[list[str] | str], last: list[str]
) -> None:
    store = Store(NODES, random)
    for shard in SHARDS:
        store.put("Queue", queue(shard, shard))
    store.desire(desired(first))
    daemons = {name: ShardDaemon(name, store) for name in SHARDS}
    for daemon in daemons.values():
        daemon.start()
    waiting = [(f"p{number}", *pod) for number, pod in enumerate(pods)]
    for step in [*moves, last]:
        for name, shard, cpu in waiting[: len(waiting) // 2 + 1]:
            group, pod = single_pod(name, shard, cpu)
            store.put("PodGroup", group)
            store.put("Pod", pod)
            await store.turn()
        del waiting[: len(waiting) // 2 + 1]
        for _ in range(random.randint(0, 12)):
            await store.turn()
        if isinstance(step, str):
            name = step.removeprefix("kill ")
            await daemons[name].stop()
            daemons[name] = ShardDaemon(name, store)
            daemons[name].start()
        else:
            store.desire(desired(step))
    for name, shard, cpu in waiting:
        group, pod = single_pod(name, shard, cpu)
        store.put("PodGroup", group)
        store.put("Pod", pod)
    await _settle(store, daemons)
    assert not store.refused
    used = store.used()
    for pod in store.of("Pod"):
        own = [node for node, place in zip(NODES, last, strict=True) if place == _shard_of(pod, pods)]
        if not pod.spec.node_name:
            free = {node: NODES[node] - used[node] for node in own}
            asked = int(pod.spec.containers[0].resources.requests["cpu"])
            assert all(left < asked for left in free.values()), f"{pod.metadata.name} asks {asked} of {free}"
    for daemon in daemons.values():
        await daemon.stop()


def _shard_of(pod: Any, pods: list[tuple[str, int]]) -> str:
    return pods[int(pod.metadata.name[1:])][0]


async def _settle(store: Store, daemons: dict[str, ShardDaemon]) -> None:
    """Until nothing has been written for a while, and all daemons have decided on the last of it."""
    still, seen = 0, -1
    while still < _ENOUGH:
        await asyncio.sleep(0.0002 if still % 100 == 0 else 0)
        for daemon in daemons.values():
            daemon.check()
        now, is_quiet = store.version, not any(daemon.keeper.backlog for daemon in daemons.values())
        if not is_quiet:
            await asyncio.sleep(0.001)  # it tries again after a pause
        still, seen = (still + 1, seen) if now == seen and is_quiet else (0, now)
