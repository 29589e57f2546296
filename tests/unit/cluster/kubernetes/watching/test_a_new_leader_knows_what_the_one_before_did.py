"""Lists that show what a leader before has done are those that were begun once it led no more."""

from __future__ import annotations

import asyncio

from tests.unit.cluster.conftest import Background
from tests.unit.cluster.fakes import FakeApi, FakeClock, RecordingSink, eventually, page, pod
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.watching.early_lists import EarlyList, EarlyLists
from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.cluster.kubernetes.watching.kinds import NODE, POD
from volcano_py.cluster.kubernetes.watching.reflector import Reflector


async def test_kinds_are_listed_again_unless_their_list_is_new_enough(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", "/api/v1/pods", page(20, pod("a", 3)))
    api.on("GET", "/api/v1/nodes", page(25))
    informers = Informers(client, sink, [POD, NODE], clock=clock)
    background(informers.run())
    await informers.wait_synced()
    listed = clock.time

    await informers.list_since(listed, POD.name, NODE.name)
    assert len(api.sent("GET")) == 2

    clock.time += 1
    api.on("GET", "/api/v1/pods", page(30, pod("b", 29)))
    await informers.list_since(listed + 1, POD.name)
    assert sorted(sink.objects) == ["ns/b"]
    await informers.list_since(listed + 1, POD.name)
    assert [request.path for request in api.sent("GET")].count("/api/v1/pods") == 2
    assert [request.path for request in api.sent("GET")].count("/api/v1/nodes") == 1


async def test_a_list_that_began_early_shows_what_was_then(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """It began long before it was taken over."""
    api.on("GET", "/api/v1/pods", page(20, pod("a", 3)))
    begun = EarlyList(client, POD, asyncio.Semaphore(), clock)
    await eventually(lambda: api.sent("GET"))
    began_at = clock.time
    clock.time += 5
    reflector = Reflector(client, POD, sink, begun=begun, clock=clock)
    background(reflector.run())
    await reflector.synced.wait()
    assert reflector.listed_from == began_at
    assert len(api.sent("GET")) == 1


async def test_early_lists_know_when_they_began(api: FakeApi, client: KubernetesClient) -> None:
    api.on("GET", "/api/v1/pods", page(20))
    async with EarlyLists(client, [POD]) as early:
        begun = early.take(POD)
        assert begun is not None
        assert begun.begun_at > 0
