"""The keeper of a NodeShard over an API server in memory. What holds in any order of events is a property test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.support.shared_store import ShardDaemon, Store, queue, single_pod
from volcano_py.api.shards.node_shards import NODE_SHARD

NODES = {"n1": 4, "n2": 4}


@pytest.fixture
async def store() -> Store:
    store = Store(NODES, Random(0))
    store.put("Queue", queue("a", "a"))
    store.put("Queue", queue("b", "b"))
    return store


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - what is waited for is no event
            await asyncio.sleep(0)


def status(store: Store, name: str) -> tuple[list[str], list[str], list[str]]:
    """In use, to add, to remove."""
    found: Any = store.objects[NODE_SHARD, name]
    return found.status.nodes_in_use, found.status.nodes_to_add, found.status.nodes_to_remove


async def test_a_node_moves_when_another_shard_desires_it(store: Store) -> None:
    store.desire({"a": ["n1", "n2"], "b": []})
    one, two = ShardDaemon("a", store), ShardDaemon("b", store)
    one.start()
    two.start()
    await until(lambda: one.state.has_usable("n1") and one.state.has_usable("n2"))
    store.desire({"b": ["n2"]})
    await until(lambda: status(store, "b") == ([], ["n2"], []))
    store.desire({"a": ["n1"]})
    await until(lambda: two.state.has_usable("n2"))
    assert (status(store, "a"), status(store, "b")) == ((["n1"], [], []), (["n2"], [], []))
    assert not one.state.has_usable("n2")
    await one.stop()
    await two.stop()


async def test_a_node_is_kept_while_a_pod_is_on_its_way_there(store: Store) -> None:
    store.desire({"a": ["n1"]})
    for obj in single_pod("p", "a", 1):
        store.put(type(obj).__name__, obj)
    daemon = ShardDaemon("a", store)
    daemon.holds_bindings = True
    daemon.start()
    await until(lambda: daemon.state.awaiting(frozenset({"n1"})) == {"n1"})
    store.desire({"a": []})
    await until(lambda: status(store, "a") == (["n1"], [], ["n1"]))
    assert not daemon.state.has_usable("n1")
    daemon.holds_bindings = False
    await until(lambda: status(store, "a") == ([], [], []))
    assert store.bindings == [("default/p", "n1")]
    await daemon.stop()


async def test_a_claim_that_meets_another_one_is_withdrawn(store: Store) -> None:
    """The other claim is not in the picture yet, as its event is late."""
    store.desire({"a": ["n1"], "b": []})
    daemon = ShardDaemon("a", store)
    daemon.start()
    del store.watchers[:]  # from here on, nothing comes by the watch
    other: Any = store.objects[NODE_SHARD, "b"]
    store.claim(other, ["n1"])
    await until(lambda: daemon.keeper.is_ready and daemon.keeper.backlog == 0)
    assert status(store, "a") == ([], ["n1"], [])
    assert not daemon.state.has_usable("n1")
    store.watchers.append(daemon.events)
    await daemon.stop()


async def test_a_new_leader_checks_what_its_predecessor_has_claimed(store: Store) -> None:
    store.desire({"a": ["n1"], "b": ["n1"]})
    for name in ("a", "b"):
        known: Any = store.objects[NODE_SHARD, name]
        store.claim(known, ["n1"])  # claims that no daemon has compared
    daemon = ShardDaemon("a", store)
    daemon.start()
    await until(lambda: daemon.keeper.is_ready)
    assert not daemon.state.has_usable("n1")
    await daemon.stop()


async def test_without_its_node_shard_a_scheduler_is_ready_and_has_no_nodes(store: Store) -> None:
    daemon = ShardDaemon("a", store)
    daemon.start()
    await until(lambda: daemon.keeper.is_ready)
    assert not daemon.state.has_usable("n1")
    store.desire({"a": ["n1"]})
    await until(lambda: daemon.state.has_usable("n1"))
    await daemon.stop()


async def test_another_node_shard_of_the_same_name_is_begun_from_nothing(store: Store) -> None:
    store.desire({"a": ["n1"]})
    daemon = ShardDaemon("a", store)
    daemon.start()
    await until(lambda: daemon.state.has_usable("n1"))
    del store.objects[NODE_SHARD, "a"]
    store.desire({"a": ["n2"]}, generation=2)
    await until(lambda: daemon.state.has_usable("n2"))
    assert not daemon.state.has_usable("n1")
    await daemon.stop()


async def test_nodes_are_used_by_none_that_does_not_lead(store: Store) -> None:
    store.desire({"a": ["n1"]})
    daemon = ShardDaemon("a", store)
    daemon.leads = False
    daemon.start()
    for _ in range(200):
        await asyncio.sleep(0)
    assert status(store, "a") == ([], [], [])
    assert not daemon.keeper.is_ready
    daemon.leads = True
    daemon.keeper.leadership_gained()
    await until(lambda: daemon.state.has_usable("n1"))
    await daemon.stop()
